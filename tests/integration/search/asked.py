"""Collections with documents in them, and searches of them, in few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from collections_app.models import Chunk, Collection
from collections_app.services import create_collection
from core_app.wiring import store
from ingest_app.rechunking import set_chunking
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.results import SearchResult
from search_app.services import search

JSON = "application/json"
#: Sixteen words each with the one they are found by, so that with `SMALL` each is a passage.
FILLER = "and {} nothing else is said here about it while the sentence goes on to its end."
SMALL = {"size": 20, "overlap": 0}


def sentence(word: str) -> str:
    # Characters of two, three and four bytes, so that offsets in bytes would show.
    return "Überall 漢字 👩‍👩‍👧‍👦 " + FILLER.format(word)


def filled(
    name: str,
    texts: Mapping[str, str],
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    chunking: Mapping[str, Any] | None = None,
    **options: Any,
) -> Collection:
    """A collection of documents by their names, embedded by the server."""
    made = create_collection(name=name, **options)
    if chunking is not None:
        set_chunking(name=name, own=chunking)
    add(name, texts, metadata=metadata)
    made.refresh_from_db()
    return made


def add(name: str, texts: Mapping[str, str], *, metadata: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    about = metadata or {}
    sources = [
        Source(name=source, content=text.encode(), is_text=True, metadata=about.get(source, {}))
        for source, text in texts.items()
    ]
    job = submit(collection_name=name, sources=sources)
    run_job(job_id=job.pk, stopping=lambda: False)


def look(query: str, *, name: str = "c", **options: Any) -> SearchResult:
    return search(collection_name=name, query=query, **options)


def post(client: Client, query: str, *, name: str = "c", status: int = 200, **body: Any) -> Any:
    """The answer of the search over HTTP."""
    answer = client.post(f"/api/rag/collections/{name}/search", {"query": query, **body}, JSON)
    assert answer.status_code == status, answer.content
    return answer.json()


def codes(found: SearchResult) -> list[str]:
    return [warning.code for warning in found.warnings]


def sources(found: SearchResult) -> Sequence[str]:
    return [hit.metadata["source"] for hit in found.hits]


def passage(word: str) -> Chunk:
    return Chunk.objects.get(text__contains=word)


def break_call(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let a call of the store fail in the database, so that its transaction is really broken."""

    def broken(**_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(store("pgvector"), name, broken)
