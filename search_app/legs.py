"""The two ways of searching, side by side: the query is embedded while the database looks for its words."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from collections_app.models import Collection
from collections_app.services import space_of
from collections_app.where_sql import filter_errors
from core_app.errors import InvalidInput, Unavailable
from core_app.ports import AskedTerm, Bm25, DenseHit, LexicalHit, Vectors
from core_app.snapshot import guarded, limit_statements
from core_app.where import Where
from core_app.wiring import app_settings, embedder, store
from inference_app.services import embed_query
from search_app.clock import Clock
from search_app.fusion import similarity
from search_app.modes import Legs
from search_app.results import SearchWarning

logger = logging.getLogger(__name__)

#: Embeds while the database works on the words; such a thread never opens a connection of its own.
_embedding = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="embed")

#: Of all that can be wrong with a statement, what the caller can mend.
_OF_THE_FILTER = ("invalid_where", "too_expensive")

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Looking:
    """What both legs look for, and where. The collections have vectors."""

    collections: Sequence[Collection]
    text: str
    legs: Legs
    #: Chunks that each leg is asked for.
    depth: int
    #: With so many found by words, meaning is given up when the time is over; None: never.
    enough: int | None
    where: Where | None


@dataclass(kw_only=True)
class Findings:
    """What the legs found, how similar it is, and what went wrong meanwhile."""

    #: Best first, of all collections together.
    dense: list[DenseHit] = field(default_factory=list)
    lexical: list[LexicalHit] = field(default_factory=list)
    #: By chunk id, 0 to 1; chunks without a comparable vector are missing.
    similarities: dict[int, float] = field(default_factory=dict)
    #: The query's words; of several languages those of the first.
    terms: Sequence[AskedTerm] = ()
    #: How each leg looked, by collection or language.
    ways: dict[str, str] = field(default_factory=dict)
    vector: Vectors | None = None
    warnings: list[SearchWarning] = field(default_factory=list)
    _failures: list[Exception] = field(default_factory=list)
    _succeeded: int = 0
    #: Whether statements have less time than the setting gives them.
    _is_bounded: bool = False

    @property
    def rankings(self) -> list[list[int]]:
        """Chunk ids of each leg, best first."""
        return [[hit.chunk_id for hit in self.dense], [hit.chunk_id for hit in self.lexical]]

    def warn(self, code: str, detail: str) -> None:
        warning = SearchWarning(code=code, detail=detail)
        if warning not in self.warnings:
            self.warnings.append(warning)

    def attempt(
        self,
        code: str,
        detail: str,
        call: Callable[[], Found],
        *,
        where: Where | None = None,
        seconds: float | None = None,
        cut: str = "",
    ) -> Found | None:
        """Run statements that may fail: the rest still has a transaction then (B3.5).

        What is wrong with the filter is the caller's mistake and raised. With `seconds` each has no more time
        than that, and `cut` is said when it was too little.
        """
        try:
            with filter_errors() if where is not None else nullcontext():
                found = self._guarded(call, seconds, cut)
        except Exception as error:
            if isinstance(error, InvalidInput) and error.code in _OF_THE_FILTER:
                raise
            logger.exception("part of a search failed: %s", code)
            self.warn(code, detail)
            self._failures.append(error)
            return None
        self._succeeded += 1
        return found

    def _guarded(self, call: Callable[[], Found], seconds: float | None, cut: str) -> Found | None:
        self._is_bounded = seconds is not None
        try:
            with guarded(seconds=seconds):
                return call()
        except OperationalError as error:
            if seconds is None or not isinstance(error.__cause__, QueryCanceled):
                raise
            self.warn("dense_search_cut", cut)
            return None

    def end_bound(self) -> None:
        """Give what follows the time that every statement has."""
        if self._is_bounded:
            limit_statements(app_settings().vector_database.statement_timeout_seconds)
        self._is_bounded = False

    def raise_if_nothing_worked(self) -> None:
        """Raise the first failure when no leg gave an answer."""
        if self._failures and not self._succeeded:
            raise self._failures[0]


def look(looking: Looking, findings: Findings, clock: Clock) -> None:
    """Fill `findings` with the first chunks of each wanted leg.

    Without a model for a collection, or when embedding fails and words are wanted too, words alone
    are searched and a warning says so (README 7, B8.5). Raises Unavailable when meaning alone is wanted
    and embedding fails, the first failure when no leg works, and InvalidInput for the filter.
    """
    embedded = [collection for collection in looking.collections if _is_embedded(collection)]
    for collection in looking.collections:
        if collection not in embedded:
            findings.warn(
                "no_embedder",
                "The server has no model for this collection's vectors: words alone were searched."
                if len(looking.collections) == 1
                else f"The server has no model for the vectors of '{collection.name}': it was searched by words alone.",
            )
    future = _embedding.submit(copy_context().run, partial(embed_query, text=looking.text)) if embedded else None
    if looking.legs != "dense" or len(embedded) < len(looking.collections):
        searched = [c for c in looking.collections if looking.legs != "dense" or c not in embedded]
        with clock.stage("words"):
            _lexical_leg(looking, searched, findings)
    if future is not None:
        with clock.stage("embedding"):
            findings.vector = _finished(future, looking, findings, clock)
    if findings.vector is not None and looking.legs != "lexical":
        with clock.stage("meaning"):
            _dense_leg(looking, embedded, findings.vector, findings, clock)
    findings.raise_if_nothing_worked()
    if findings.vector is not None:
        with clock.stage("similarities"):
            _compare(embedded, findings.vector, findings)
    findings.end_bound()


def _is_embedded(collection: Collection) -> bool:
    """Whether the server's model made the collection's vectors."""
    generation, source = collection.active_generation, embedder()
    return generation is not None and (generation.embedding_connection, generation.embedding_model) == (
        source.connection,
        source.model,
    )


def _finished(future: Future[Vectors], looking: Looking, findings: Findings, clock: Clock) -> Vectors | None:
    # Not `result(timeout)`: what an embedder raises may be a TimeoutError, too.
    if not wait([future], timeout=_time_for_meaning(looking, findings, clock)).done:
        findings.warn("embedding_cut", "The query was not embedded in the mode's time: words alone were searched.")
        return None
    try:
        return future.result()
    except Exception as error:
        logger.exception("the query could not be embedded")
        if looking.legs == "dense":
            raise Unavailable(
                "The query could not be embedded. Try again; the server's log has the cause.",
                code="embedder_unavailable",
            ) from error
        findings.warn("embedding_failed", "The query could not be embedded: words alone were searched.")
        return None


def _time_for_meaning(looking: Looking, findings: Findings, clock: Clock) -> float | None:
    """Seconds; None where nothing else was found that could be shown in its place."""
    if looking.enough is None or len(findings.lexical) < looking.enough or clock.budget_ms is None:
        return None
    return clock.seconds_left


def _lexical_leg(looking: Looking, collections: Sequence[Collection], findings: Findings) -> None:
    """Collections that weigh words alike are searched as one, so that their scores can be compared."""
    hits: list[LexicalHit] = []
    for (store_name, bm25), those in alike(collections).items():
        found = findings.attempt(
            "lexical_search_failed",
            "The search by words failed: results are by meaning alone.",
            lambda store_name=store_name, bm25=bm25, those=those: store(store_name).lexical(  # type: ignore[misc]
                collection_ids=[collection.pk for collection in those],
                bm25=bm25,
                query=looking.text,
                limit=looking.depth,
                where=looking.where,
            ),
            where=looking.where,
        )
        if found is not None:
            hits += found.hits
            findings.terms = findings.terms or found.terms
            findings.ways[f"words in {bm25.language}"] = found.way
    findings.lexical = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[: looking.depth]


def alike(collections: Sequence[Collection]) -> dict[tuple[str, Bm25], list[Collection]]:
    """Those that weigh words alike, by their store and how they do."""
    found: dict[tuple[str, Bm25], list[Collection]] = {}
    for collection in collections:
        found.setdefault((collection.store, bm25_of(collection)), []).append(collection)
    return found


def bm25_of(collection: Collection) -> Bm25:
    """How the collection's words are weighed."""
    section = app_settings().search
    return Bm25(
        language=collection.language,
        k1=section.k1 if collection.k1 is None else collection.k1,
        b=section.b if collection.b is None else collection.b,
    )


def _dense_leg(
    looking: Looking, collections: Sequence[Collection], vector: Vectors, findings: Findings, clock: Clock
) -> None:
    ranked: list[tuple[float, DenseHit]] = []
    for collection in collections:
        cut = ""
        seconds = _time_for_meaning(looking, findings, clock)
        if seconds is not None:
            cut = "The search by meaning was given up when the mode's time was over: results are by words."
            if seconds <= 0:
                findings.warn("dense_search_cut", cut)
                break
        found = _nearest(looking, collection, vector, findings, seconds, cut)
        ranked += found
    # One metric orders by distance; several can only be compared by similarity.
    ranked.sort(key=lambda entry: (-entry[0], entry[1].distance, entry[1].chunk_id))
    findings.dense = [hit for _, hit in ranked[: looking.depth]]
    findings.similarities = {hit.chunk_id: near for near, hit in ranked[: looking.depth]}


def _nearest(
    looking: Looking,
    collection: Collection,
    vector: Vectors,
    findings: Findings,
    seconds: float | None,
    cut: str,
) -> list[tuple[float, DenseHit]]:
    assert collection.active_generation is not None
    space = space_of(collection.active_generation)

    def call() -> list[tuple[float, DenseHit]]:
        found = store(collection.store).dense(space=space, query=vector, limit=looking.depth, where=looking.where)
        findings.ways[f"meaning in {collection.name}"] = found.way
        return [(similarity(hit.distance, metric=space.distance), hit) for hit in found.hits]

    detail = "The search by meaning failed: results are by words alone."
    if seconds is not None:
        seconds = min(seconds, app_settings().vector_database.statement_timeout_seconds)
    return findings.attempt("dense_search_failed", detail, call, where=looking.where, seconds=seconds, cut=cut) or []


def _compare(collections: Sequence[Collection], vector: Vectors, findings: Findings) -> None:
    """Similarities of what words alone found."""
    missing = [hit.chunk_id for hit in findings.lexical if hit.chunk_id not in findings.similarities]
    for collection in collections if missing else ():
        assert collection.active_generation is not None
        space = space_of(collection.active_generation)
        found = findings.attempt(
            "similarity_failed",
            "Some similarities could not be computed: they count as 0.",
            lambda collection=collection, space=space: store(collection.store).distances(  # type: ignore[misc]
                space=space, query=vector, chunk_ids=missing
            ),
        )
        for chunk_id, distance in (found or {}).items():
            findings.similarities[chunk_id] = similarity(distance, metric=space.distance)
