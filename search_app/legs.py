"""The two ways of searching, side by side: the query is embedded while the database looks for its words."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from django.db import transaction

from collections_app.models import Collection
from core_app.errors import Unavailable
from core_app.ports import Bm25, DenseHit, LexicalHit, Space, Vectors
from core_app.wiring import app_settings, embedder, store
from inference_app.services import embed_query
from search_app.fusion import similarity
from search_app.results import SearchWarning

logger = logging.getLogger(__name__)

#: By meaning and words, or by one of them.
Legs = Literal["hybrid", "dense", "lexical"]

#: Embeds while the database works on the words; such a thread never opens a connection of its own.
_embedding = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="embed")

Found = TypeVar("Found")


@dataclass(kw_only=True)
class Findings:
    """What the legs found, how similar it is, and what went wrong meanwhile."""

    dense: Sequence[DenseHit] = ()
    lexical: Sequence[LexicalHit] = ()
    #: By chunk id, 0 to 1; chunks without a comparable vector are missing.
    similarities: dict[int, float] = field(default_factory=dict)
    warnings: list[SearchWarning] = field(default_factory=list)
    _failures: list[Exception] = field(default_factory=list)
    _succeeded: int = 0

    @property
    def rankings(self) -> list[list[int]]:
        """Chunk ids of each leg, best first."""
        return [[hit.chunk_id for hit in self.dense], [hit.chunk_id for hit in self.lexical]]

    def warn(self, code: str, detail: str) -> None:
        self.warnings.append(SearchWarning(code=code, detail=detail))

    def attempt(self, code: str, detail: str, call: Callable[[], Found]) -> Found | None:
        """Run one statement in a savepoint: when it fails, the rest still has a transaction (B3.5)."""
        try:
            with transaction.atomic():
                found = call()
        except Exception as error:
            logger.exception("part of a search failed: %s", code)
            self.warn(code, detail)
            self._failures.append(error)
            return None
        self._succeeded += 1
        return found

    def raise_if_nothing_worked(self) -> None:
        """Raise the first failure when no leg gave an answer."""
        if self._failures and not self._succeeded:
            raise self._failures[0]


def look(*, collection: Collection, space: Space, text: str, legs: Legs, depth: int, findings: Findings) -> None:
    """Fill `findings` with the first `depth` chunks of each wanted leg.

    Without a model for the collection, or when embedding fails and words are wanted too, words alone
    are searched and a warning says so (README 7, B8.5). Raises Unavailable when meaning alone is wanted
    and embedding fails, and the first failure when no leg works.
    """
    future = _start_embedding(collection, text)
    if future is None:
        detail = "The server has no model for this collection's vectors: words alone were searched."
        findings.warn("no_embedder", detail)
    if legs != "dense" or future is None:
        _lexical_leg(collection, text, depth, findings)
    vector = None if future is None else _finished(future, findings, alone=legs == "dense")
    if vector is not None and legs != "lexical":
        _dense_leg(collection, space, vector, depth, findings)
    findings.raise_if_nothing_worked()
    _compare(collection, space, vector, findings)


def _start_embedding(collection: Collection, text: str) -> Future[Vectors] | None:
    """The query's vector in the making; None where the server has no model for this collection."""
    generation = collection.active_generation
    source = embedder()
    if generation is None or (generation.embedding_connection, generation.embedding_model) != (
        source.connection,
        source.model,
    ):
        return None
    return _embedding.submit(embed_query, text=text)


def _finished(future: Future[Vectors], findings: Findings, *, alone: bool) -> Vectors | None:
    try:
        return future.result()
    except Exception as error:
        logger.exception("the query could not be embedded")
        if alone:
            raise Unavailable(
                "The query could not be embedded. Try again; the server's log has the cause.",
                code="embedder_unavailable",
            ) from error
        findings.warn("embedding_failed", "The query could not be embedded: words alone were searched.")
        return None


def _lexical_leg(collection: Collection, text: str, depth: int, findings: Findings) -> None:
    section = app_settings().search
    bm25 = Bm25(
        language=collection.language,
        k1=section.k1 if collection.k1 is None else collection.k1,
        b=section.b if collection.b is None else collection.b,
    )
    hits = findings.attempt(
        "lexical_search_failed",
        "The search by words failed: results are by meaning alone.",
        lambda: store(collection.store).lexical(collection_id=collection.pk, bm25=bm25, query=text, limit=depth),
    )
    findings.lexical = hits or ()


def _dense_leg(collection: Collection, space: Space, vector: Vectors, depth: int, findings: Findings) -> None:
    hits = findings.attempt(
        "dense_search_failed",
        "The search by meaning failed: results are by words alone.",
        lambda: store(collection.store).dense(space=space, query=vector, limit=depth),
    )
    findings.dense = hits or ()


def _compare(collection: Collection, space: Space, vector: Vectors | None, findings: Findings) -> None:
    """Similarities of all that was found; what words alone found is compared with the query here."""
    distances = {hit.chunk_id: hit.distance for hit in findings.dense}
    missing = [hit.chunk_id for hit in findings.lexical if hit.chunk_id not in distances]
    if missing and vector is not None:
        found = findings.attempt(
            "similarity_failed",
            "Some similarities could not be computed: they count as 0.",
            lambda: store(collection.store).distances(space=space, query=vector, chunk_ids=missing),
        )
        distances |= found or {}
    findings.similarities = {
        chunk_id: similarity(distance, metric=space.distance) for chunk_id, distance in distances.items()
    }
