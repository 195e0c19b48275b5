"""Where a passage is that somebody misses: its rank in each leg and its place in the order, or what kept it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from collections_app.models import Chunk, Collection
from collections_app.reading import passing_chunks
from collections_app.services import space_of
from core_app.similarity import similarity
from core_app.where import And, Where
from core_app.where.wording import in_words
from core_app.wiring import store
from search_app.explaining import term_shares
from search_app.findings import Findings
from search_app.ranking import SCALED, Ranking
from search_app.reranking import RerankedHit
from search_app.showing import Shown

#: Passages and documents that one search can be asked for.
MOST_TRACED = 20
#: Passages of one document that are looked at beside what was found of it, and those that are told of.
MOST_OF_DOCUMENT, TOLD_OF_DOCUMENT = 200, 5
#: Characters of a passage that are shown of it.
_EXCERPT = 200

#: Warnings of a search by words that has not found all.
_LACKING = frozenset({"lexical_search_cut", "lexical_search_failed"})

Verdict = Literal["found", "inside", "behind", "left_out", "below", "not_found", "filtered", "disabled", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, kw_only=True)
class LegPlace:
    """Where one leg has a passage; without a rank `why` says why not."""

    rank: int | None = None
    #: Similarity, or BM25; null where it cannot be computed.
    score: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """Where a passage is in one search."""

    #: As it was asked for: a passage's id or a document's source.
    asked: str
    verdict: Verdict
    detail: str
    id: str | None = None
    collection: str | None = None
    source: str | None = None
    excerpt: str = ""
    dense: LegPlace = LegPlace()
    lexical: LegPlace = LegPlace()
    #: From 1, after fusion.
    fused: int | None = None
    #: Its place by the reranker's score.
    reranked: int | None = None
    #: Its place among the results.
    shown: int | None = None
    #: Conditions of the filter that it fails.
    fails: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a search came to, of which a trace is told."""

    collections: Sequence[Collection]
    text: str
    where: Where | None
    legs: str
    limit: int
    min_score: float | None
    findings: Findings
    ranking: Ranking
    reranked: Mapping[int, RerankedHit]
    #: Chunk ids that are similar enough, in their last order.
    kept: Sequence[int]
    shown: Sequence[Shown]
    seconds: float | None


def trace(asked: Sequence[str], *, outcome: Outcome) -> list[Whereabouts]:
    """For each passage or document asked for; of a document the few passages that came nearest to being found."""
    asked = list(dict.fromkeys(asked))
    by_asked = _chunks(asked, outcome)
    chunks = [chunk for found in by_asked.values() for chunk in found]
    tracer = _Tracer(outcome, chunks)
    told: list[Whereabouts] = []
    for name in asked:
        found = sorted((tracer.of(chunk, name) for chunk in by_asked.get(name, ())), key=_nearness)
        told += found[:TOLD_OF_DOCUMENT] or [
            Whereabouts(
                asked=name,
                verdict="unknown",
                detail="No passage has this id and no document this source: it is not there, in another collection, or "
                "held elsewhere.",
            )
        ]
    return told


def _said(place: LegPlace, fails: Sequence[str]) -> LegPlace:
    """What the filter leaves out no leg looks at."""
    return replace(place, why="The filter leaves it out.") if fails and place.rank is None else place


def _nearness(one: Whereabouts) -> tuple[float, float, float]:
    return (one.shown or float("inf"), one.fused or float("inf"), -(one.dense.score or 0.0))


def _chunks(asked: Sequence[str], outcome: Outcome) -> dict[str, list[Chunk]]:
    """By what was asked for: the passage of that id, else the first ones of the documents of that source."""
    rows = Chunk.objects.select_related("document", "collection")
    of_documents = rows.filter(document__collection__in=outcome.collections)
    # One statement, of parts whose indexes differ: what was found of a long document, and its beginning.
    parts = [of_documents.filter(document__source__in=asked, pk__in=list(outcome.ranking.scores)).order_by()]
    for source in asked:
        of_one = of_documents.filter(document__source=source)
        parts.append(of_one.order_by("document_id", "ordinal")[:MOST_OF_DOCUMENT])
    by_id = rows.filter(collection__in=outcome.collections, external_id__in=asked)
    both = by_id.union(*parts, all=True)
    found: dict[str, list[Chunk]] = {}
    names = set(asked)
    chunks = {chunk.pk: chunk for chunk in both}.values()
    for chunk in chunks:
        if chunk.external_id in names:
            found.setdefault(chunk.external_id, []).append(chunk)
    by_ids = set(found)
    for chunk in chunks:
        if chunk.document is not None and chunk.document.source in names - by_ids:
            found.setdefault(chunk.document.source, []).append(chunk)
    return found


class _Tracer:
    """Looks up once what is to be told of all passages."""

    def __init__(self, outcome: Outcome, chunks: Sequence[Chunk]) -> None:
        self._outcome = outcome
        findings = outcome.findings
        ids = [chunk.pk for chunk in chunks]
        self._dense = {hit.chunk_id: rank for rank, hit in enumerate(findings.dense, start=1)}
        self._lexical = {hit.chunk_id: rank for rank, hit in enumerate(findings.lexical, start=1)}
        self._fused = {pk: place for place, pk in enumerate(outcome.ranking.scores, start=1)}
        self._last = {pk: place for place, pk in enumerate(outcome.kept, start=1)}
        self._shown = {one.chunk.pk: place for place, one in enumerate(outcome.shown, start=1)}
        self._similarities = findings.similarities | self._missing(
            [pk for pk in ids if pk not in findings.similarities]
        )
        self._bm25 = {hit.chunk_id: hit.score for hit in findings.lexical}
        others = [] if self._has_all_words else [pk for pk in ids if pk not in self._bm25]
        shares = term_shares(others, outcome.text, outcome.collections, findings, outcome.seconds) if others else {}
        self._bm25 |= {pk: sum(share.share for share in of_chunk) for pk, of_chunk in shares.items()}
        where = outcome.where
        parts = where.parts if isinstance(where, And) else (where,) if where is not None else ()
        self._passing = [(in_words(part), passing_chunks(chunk_ids=ids, where=part)) for part in parts]

    @property
    def _has_all_words(self) -> bool:
        """Whether whatever has a word of the query was found by it: then nothing else needs to be scored."""
        findings = self._outcome.findings
        is_whole = _LACKING.isdisjoint(warning.code for warning in findings.warnings)
        return is_whole and self._outcome.where is None and 0 < len(findings.lexical) < SCALED

    def _missing(self, ids: Sequence[int]) -> dict[int, float]:
        """Similarities that the search itself did not need."""
        vectors = self._outcome.findings.vectors
        found: dict[int, float] = {}
        for collection in self._outcome.collections if ids else ():
            vector = vectors.get(collection.pk)
            if vector is None or collection.active_generation is None:
                continue
            space = space_of(collection.active_generation)
            distances = store(collection.store).distances(space=space, query=vector, chunk_ids=ids)
            found |= {pk: similarity(distance, metric=space.distance) for pk, distance in distances.items()}
        return found

    def of(self, chunk: Chunk, asked: str) -> Whereabouts:
        pk, outcome = chunk.pk, self._outcome
        reranked = outcome.reranked.get(pk)
        fails = [condition for condition, passing in self._passing if pk not in passing]
        about = Whereabouts(
            asked=asked,
            verdict="not_found",
            detail="",
            id=chunk.external_id,
            collection=chunk.collection.name,
            source=chunk.document.source if chunk.document else None,
            excerpt=chunk.text[:_EXCERPT],
            dense=_said(self._by_meaning(pk), fails),
            lexical=_said(self._by_words(pk), fails),
            fused=self._fused.get(pk),
            reranked=None if reranked is None else reranked.rank,
            shown=self._shown.get(pk),
            fails=fails,
        )
        verdict, detail = self._verdict(chunk, about)
        return replace(about, verdict=verdict, detail=detail)

    def _by_meaning(self, pk: int) -> LegPlace:
        findings, score = self._outcome.findings, self._similarities.get(pk)
        if pk in self._dense:
            return LegPlace(rank=self._dense[pk], score=score)
        if self._outcome.legs == "lexical":
            why = "Meaning was not searched."
        elif not findings.vectors:
            why = "The query has no vector to compare."
        elif score is None:
            why = "It has no vector of the server's model."
        else:
            why = f"Not among the first {len(findings.dense):,} by meaning."
        return LegPlace(score=score, why=why)

    def _by_words(self, pk: int) -> LegPlace:
        findings, score = self._outcome.findings, self._bm25.get(pk) or None
        if pk in self._lexical:
            return LegPlace(rank=self._lexical[pk], score=score)
        if self._outcome.legs == "dense":
            why = "Words were not searched."
        elif score is None:
            why = "It has no word of the query."
        else:
            why = f"Not among the first {len(findings.lexical):,} by words."
        return LegPlace(score=score, why=why)

    def _verdict(self, chunk: Chunk, about: Whereabouts) -> tuple[Verdict, str]:
        outcome, pk = self._outcome, chunk.pk
        if about.shown is not None:
            return "found", f"It is result {about.shown}."
        if chunk.disabled_at is not None:
            return "disabled", "It is disabled: no search finds it until it is enabled again."
        if about.fails:
            return "filtered", f"The filter leaves it out: {'; '.join(about.fails)}."
        if about.fused is None:
            return "not_found", f"No leg has it among its candidates. {about.dense.why} {about.lexical.why}"
        if pk not in self._last:
            score, least = self._similarities.get(pk, 0.0), outcome.min_score or 0.0
            return "below", f"Its similarity {score:.3f} is below the least score {least:g}."
        within = next((place for place, one in enumerate(outcome.shown, start=1) if one.holds(chunk)), None)
        if within is not None:
            return "inside", f"It is shown inside result {within}, which stands around it."
        place = self._last[pk]
        if place > outcome.limit:
            return "behind", f"It is at place {place}, and results end at {outcome.limit}. Ask for more to see it."
        return (
            "left_out",
            f"It is at place {place}, and others took its turn: results are grouped or made to differ.",
        )
