"""Indexes a judged set through the ingestion job and searches it through the search service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tqdm import tqdm

from benchmarks.quality.beir import JudgedSet
from benchmarks.quality.metrics import Scores, evaluate
from collections_app.services import create_collection
from ingest_app.models import Job
from ingest_app.selectors import report
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.asking import SearchOptions
from search_app.services import search

#: Name in the table → how is searched.
WAYS: dict[str, SearchOptions] = {
    "BM25": {"legs": "lexical", "mode": "fast"},
    "dense": {"legs": "dense", "mode": "fast"},
    "hybrid (RRF)": {"legs": "hybrid", "mode": "fast"},
    "balanced": {"legs": "hybrid", "mode": "balanced"},
}
BATCH = 500


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The scores of each way, and how much was indexed and asked."""

    documents: int
    queries: int
    scores: dict[str, Scores]


def measure(judged: JudgedSet, *, collection: str, chunking: Mapping[str, str], top_k: int) -> Measured:
    """Index the set into a new collection, then score every way of searching it."""
    fill(judged, collection=collection, chunking=chunking)
    scores = {}
    for name, options in WAYS.items():
        run = {
            query: ranking(collection=collection, text=text, options={**options, "top_k": top_k})
            for query, text in tqdm(judged.queries.items(), desc=name, unit="query", leave=False)
        }
        scores[name] = evaluate(run=run, judgements=judged.judgements)
    return Measured(documents=len(judged.documents), queries=len(judged.queries), scores=scores)


def fill(judged: JudgedSet, *, collection: str, chunking: Mapping[str, str]) -> None:
    """Make the collection and index the set into it."""
    create_collection(name=collection, chunking=chunking)
    index(judged, collection=collection)


def index(judged: JudgedSet, *, collection: str) -> None:
    """Run the jobs in this process; raises RuntimeError when a document could not be indexed."""
    for start in tqdm(range(0, len(judged.documents), BATCH), desc="indexing", unit="job", leave=False):
        sources = [
            Source(name=text.id, title=text.title, content=text.text.encode("utf-8"), is_text=True)
            for text in judged.documents[start : start + BATCH]
        ]
        job = submit(collection_name=collection, sources=sources)
        run_job(job_id=job.pk, stopping=lambda: False)
        found = report(job=Job.objects.get(pk=job.pk))
        if found.job.state != Job.State.SUCCEEDED:
            failed = next(item for item in found.items or () if item.error)
            raise RuntimeError(f"{failed.source}: {failed.error}")


def ranking(*, collection: str, text: str, options: SearchOptions) -> list[str]:
    """Ids of the documents of the passages that are found, each once."""
    found = search(collection_name=collection, query=text, **options)
    if found.warnings:
        raise RuntimeError(f"{text}: {found.warnings[0].detail}")
    return list(dict.fromkeys(str(hit.metadata["source"]) for hit in found.hits))


def candidates(judged: JudgedSet, *, collection: str, top_k: int) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Of each query what `balanced` finds, best first: documents, each once, with the score its place comes from."""
    for query, text in tqdm(judged.queries.items(), desc="balanced", unit="query", leave=False):
        options: SearchOptions = {**WAYS["balanced"], "top_k": top_k, "explain": True}
        found = search(collection_name=collection, query=text, **options)
        if found.warnings:
            raise RuntimeError(f"{text}: {found.warnings[0].detail}")
        scores: dict[str, float] = {}
        for hit in found.hits:
            assert hit.explanation is not None
            scores.setdefault(str(hit.metadata["source"]), hit.explanation.score)
        yield query, list(scores.items())
