"""The two ways of searching, side by side: the query is embedded while the database looks for its words."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, partial
from threading import BoundedSemaphore

from collections_app.embedding import has_made_vectors
from collections_app.models import Collection
from collections_app.services import space_of
from core_app.errors import Conflict, RagsiteError, Unavailable
from core_app.ports import Bm25, DenseHit, Embedder, LexicalFound, Vectors
from core_app.similarity import similarity
from core_app.where import Where
from core_app.wiring import app_settings, embedder, store
from inference_app.services import embed_query
from search_app import corpora
from search_app.clock import Clock
from search_app.findings import Findings
from search_app.modes import Legs
from search_app.results import SearchWarning

logger = logging.getLogger(__name__)

#: Embeds while the database works on the words; such a thread never opens a connection of its own.
_embedding = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="embed")
#: Those that ask a service: they do nothing but wait, and must not keep the server's own model from its work.
_asking = ThreadPoolExecutor(max_workers=64, thread_name_prefix="embed-elsewhere")

_WORDS_CUT = SearchWarning(
    code="lexical_search_cut",
    detail="The search by words was given up when the mode's time was over: results are by meaning.",
)
#: With less of its time left than this, a guard's bound on statements is set anew.
_SAME_BOUND = 0.8
_MEANING_CUT = SearchWarning(
    code="dense_search_cut",
    detail="The search by meaning was given up when the mode's time was over: results are by words.",
)
_SIMILARITIES_CUT = SearchWarning(
    code="similarity_cut", detail="There was no time to compute some similarities: they count as 0."
)
#: Nobody waits longer for the model, whatever else there is to show: a search holds a connection meanwhile, of which
#: there are few. Whoever has patience waits until it is loaded.
_LONGEST_EMBEDDING_SECONDS = 5.0
_LONGEST_PATIENCE_SECONDS = 60.0
#: Whatever takes longer may take very long: then half of the connections are left to those who do not wait.
_SHORT_EMBEDDING_SECONDS = 0.25


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
    #: Whether there are results already, so that all may be given up.
    is_deeper: bool = False
    where: Where | None


def look(looking: Looking, findings: Findings, clock: Clock) -> None:
    """Fill `findings` with the first chunks of each wanted leg.

    Without a model for a collection, or when embedding fails and words are wanted too, words alone
    are searched and a warning says so (README 7, B8.5). Raises Unavailable when meaning alone is wanted
    and embedding fails, the first failure when no leg works, and InvalidInput for the filter.
    """
    asked = _ask_embedders(looking, findings)
    embedded = [collection for one in asked for collection in one.collections]
    searched = _searched_by_words(looking, embedded, findings)
    if searched:
        with clock.stage("words"):
            _lexical_leg(looking, searched, findings, seconds=_time_for_words(looking, embedded, clock))
    if asked:
        with clock.stage("embedding"):
            _take_vectors(asked, looking, findings, clock)
    embedded = [collection for collection in embedded if collection.pk in findings.vectors]
    if embedded and looking.legs != "lexical":
        with clock.stage("meaning"):
            _dense_leg(looking, embedded, findings, clock)
    if not looking.is_deeper and not _took_their_place(findings) and findings.unsay(_WORDS_CUT):
        with clock.stage("words again"):
            _lexical_leg(looking, searched, findings, seconds=None)
    findings.raise_if_nothing_worked()
    if embedded:
        with clock.stage("similarities"):
            _compare(embedded, findings, clock.seconds_more)
    findings.end_bound()


def _searched_by_words(looking: Looking, embedded: Sequence[Collection], findings: Findings) -> list[Collection]:
    """Those that have words here, where words are wanted or nothing else finds them."""
    wanted = [c for c in looking.collections if looking.legs != "dense" or c not in embedded]
    wordless = [c for c in wanted if not store(c.store).has_words]
    for collection in wordless:
        findings.warn(
            "no_words",
            f"The words of '{collection.name}' are not kept here"
            + (": it was searched by meaning alone." if looking.legs != "lexical" else ": nothing was found there."),
        )
    return [c for c in wanted if c not in wordless]


def _took_their_place(findings: Findings) -> bool:
    """Whether meaning answers for words that were cut; where it was cut itself, enough of them had been found."""
    if findings.said(_MEANING_CUT):
        return True
    return bool(findings.dense) and not any(warning.code == "dense_search_failed" for warning in findings.warnings)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """An embedder that is at work on the query, and the collections that it embeds for."""

    source: Embedder
    collections: list[Collection]
    future: Future[Vectors]

    @property
    def is_connected(self) -> bool:
        return bool(self.collections[0].embedding_connection)


def _ask_embedders(looking: Looking, findings: Findings) -> list[_Asked]:
    """Give the query to each embedder that made vectors of one of the collections; what has none is said."""
    sources: dict[str, Embedder | RagsiteError] = {}
    found: dict[str, list[Collection]] = {}
    for collection in looking.collections:
        name = collection.embedding_connection
        if name not in sources:
            sources[name] = _source(name)
        source, generation = sources[name], collection.active_generation
        if isinstance(source, RagsiteError):
            findings.warn("no_embedder", f"{source.detail} '{collection.name}' was searched by words alone.")
        elif generation is not None and has_made_vectors(source, generation):
            found.setdefault(name, []).append(collection)
        else:
            findings.warn(
                "no_embedder",
                "The server has no model for this collection's vectors: words alone were searched."
                if len(looking.collections) == 1
                else f"The server has no model for the vectors of '{collection.name}': it was searched by words alone.",
            )
    asked = []
    for name, collections in found.items():
        source = sources[name]
        assert not isinstance(source, RagsiteError), "only what embeds was found"
        embed = partial(embed_query, text=looking.text, source=source)
        future = (_asking if name else _embedding).submit(copy_context().run, embed)
        asked.append(_Asked(source=source, collections=collections, future=future))
    return asked


def _source(name: str) -> Embedder | RagsiteError:
    try:
        return embedder(name)
    except RagsiteError as error:
        return error


def _take_vectors(asked: Sequence[_Asked], looking: Looking, findings: Findings, clock: Clock) -> None:
    """Wait for each embedder. Raises Unavailable where meaning alone is wanted and none answers."""
    failure: RagsiteError | None = None
    for one in asked:
        try:
            vector = _finished(one.future, one, looking, findings, clock)
        except RagsiteError as error:
            failure = error
            findings.warn("embedding_failed", f"The search by meaning was left out{_in(one.collections)}.")
            continue
        for collection in one.collections if vector is not None else ():
            generation = collection.active_generation
            assert vector is not None
            assert generation is not None, "it has vectors"
            if vector.shape[-1] == generation.dimension or not one.is_connected:
                findings.vectors[collection.pk] = vector
                continue
            failure = Conflict(
                f"'{one.source.model}' makes vectors of {vector.shape[-1]} numbers, and those of '{collection.name}' "
                f"have {generation.dimension}. Set the dimension of connection '{one.source.connection}' back.",
                code="dimension_mismatch",
            )
            findings.warn("dimension_mismatch", f"{failure.detail} It was not searched by meaning.")
    if failure is not None and looking.legs == "dense" and not findings.vectors:
        raise failure


@cache
def _may_wait_long() -> BoundedSemaphore:
    return BoundedSemaphore(max(1, app_settings().vector_database.pool_size // 2))


def _is_done(future: Future[Vectors], seconds: float) -> bool:
    """Whether it is done within so many seconds, or shortly where too many others wait already."""
    # Not `result(timeout)`: what an embedder raises may be a TimeoutError, too.
    if wait([future], timeout=min(seconds, _SHORT_EMBEDDING_SECONDS)).done:
        return True
    if seconds <= _SHORT_EMBEDDING_SECONDS or not _may_wait_long().acquire(blocking=False):
        return False
    try:
        return bool(wait([future], timeout=seconds - _SHORT_EMBEDDING_SECONDS).done)
    finally:
        _may_wait_long().release()


def _finished(
    future: Future[Vectors], asked: _Asked, looking: Looking, findings: Findings, clock: Clock
) -> Vectors | None:
    seconds = _time_for_meaning(looking, findings, clock)
    longest = _LONGEST_PATIENCE_SECONDS if clock.budget_ms is None else _LONGEST_EMBEDDING_SECONDS
    is_done = _is_done(future, longest if seconds is None else seconds)
    if not is_done:
        if seconds is not None:
            findings.warn("embedding_cut", "The query was not embedded in the mode's time: words alone were searched.")
        # Of those that have not begun: nobody waits for it any more.
        future.cancel()
        if seconds is not None:
            return None
    try:
        return future.result(timeout=0)
    except Exception as error:
        why = "The query could not be embedded"
        if asked.is_connected and isinstance(error, RagsiteError):
            why = error.detail.rstrip(".")
            logger.warning("the query could not be embedded by a connection", exc_info=True)
        elif asked.source.query_engine.is_loading:
            why = "The embedding model is being loaded, which takes some seconds"
            logger.info("searched before the embedding model was loaded")
        elif is_done:
            logger.exception("the query could not be embedded")
        else:
            logger.warning("the query was not embedded in time, or too many others wait for that")
        if looking.legs == "dense":
            raise Unavailable(
                f"{why}. Try again; the server's log has the cause.", code="embedder_unavailable"
            ) from error
        findings.warn("embedding_failed", f"{why}: words alone were searched.")
        return None


def _time_for_words(looking: Looking, embedded: Sequence[Collection], clock: Clock) -> float | None:
    """Seconds; None where meaning cannot take their place. They come first, and may take all of the mode's time."""
    if looking.is_deeper and clock.budget_ms is not None:
        return clock.seconds_left
    if looking.legs != "hybrid" or len(embedded) < len(looking.collections) or clock.budget_ms is None:
        return None
    return clock.budget_ms / 1000


def _time_for_meaning(looking: Looking, findings: Findings, clock: Clock) -> float | None:
    """Seconds; None where nothing else was found that could be shown in its place."""
    if looking.is_deeper and clock.budget_ms is not None:
        return clock.seconds_left
    if looking.enough is None or len(findings.lexical) < looking.enough or clock.budget_ms is None:
        return None
    return clock.seconds_left


def _lexical_leg(
    looking: Looking, collections: Sequence[Collection], findings: Findings, *, seconds: float | None
) -> None:
    """Collections that weigh words alike are searched as one, and the others by their scores in proportion."""
    began = time.perf_counter()
    found: dict[tuple[str, Bm25], LexicalFound] = {}
    groups = corpora.alike(collections)
    for (store_name, bm25), those in groups.items():
        left = None if seconds is None else seconds - (time.perf_counter() - began)
        if left is not None and left <= 0:
            findings.warn(_WORDS_CUT.code, _WORDS_CUT.detail)
            break
        of_those = findings.attempt(
            "lexical_search_failed",
            f"The search by words failed{_in_some(groups)}: results are by meaning alone.",
            lambda store_name=store_name, bm25=bm25, those=those: store(store_name).lexical(  # type: ignore[misc]
                collection_ids=[collection.pk for collection in those],
                bm25=bm25,
                query=looking.text,
                limit=looking.depth,
                where=looking.where,
            ),
            where=looking.where,
            seconds=left,
            cut=_WORDS_CUT,
        )
        if of_those is not None:
            found[store_name, bm25] = of_those
            is_alone = sum(other.language == bm25.language for _, other in groups) == 1
            findings.ways[f"words in {bm25.language}{'' if is_alone else _in(those)}"] = of_those.way
    asked = {corpus: of_those.terms for corpus, of_those in found.items()}
    findings.scaled = corpora.factors(asked)
    findings.terms = corpora.together(asked, findings.scaled)
    hits = [
        hit._replace(score=findings.scaled[corpus] * hit.score)
        for corpus, of_those in found.items()
        for hit in of_those.hits
    ]
    findings.lexical = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[: looking.depth]


def _in(collections: Sequence[Collection]) -> str:
    """Where a part of a search was, in words."""
    return f" in {collections[0].name}" + (" and others" if len(collections) > 1 else "")


def _in_some(parts: Sized) -> str:
    """A warning is said once, whichever of several parts it is about."""
    return "" if len(parts) == 1 else " in some collections"


def _dense_leg(looking: Looking, collections: Sequence[Collection], findings: Findings, clock: Clock) -> None:
    ranked: list[tuple[float, DenseHit]] = []
    waiting = list(collections)
    while waiting:
        seconds = _time_for_meaning(looking, findings, clock)
        if seconds is not None and seconds <= 0:
            findings.warn(_MEANING_CUT.code, _MEANING_CUT.detail)
            break
        before = len(waiting)
        found = findings.attempt(
            "dense_search_failed",
            f"The search by meaning failed{_in_some(looking.collections)}: results are by words alone.",
            partial(_nearest, waiting, ranked, looking, findings, clock, seconds),
            where=looking.where,
            seconds=seconds,
            cut=_MEANING_CUT,
        )
        if found is None:
            if len(waiting) < before:
                findings.note_success()
            # The one that failed: those before it are answered, those after it are still looked at.
            del waiting[0]
    # One metric orders by distance; several can only be compared by similarity.
    ranked.sort(key=lambda entry: (-entry[0], entry[1].distance, entry[1].chunk_id))
    findings.dense = [hit for _, hit in ranked[: looking.depth]]
    findings.similarities = {hit.chunk_id: near for near, hit in ranked[: looking.depth]}


def _nearest(
    waiting: list[Collection],
    ranked: list[tuple[float, DenseHit]],
    looking: Looking,
    findings: Findings,
    clock: Clock,
    seconds: float | None,
) -> bool:
    """Move collections from `waiting` to `ranked`, under one guard while its bound on statements is about right."""
    began = len(waiting)
    while waiting:
        left = _time_for_meaning(looking, findings, clock)
        if len(waiting) < began and left is not None and (seconds is None or left < _SAME_BOUND * seconds):
            break
        collection = waiting[0]
        assert collection.active_generation is not None
        space = space_of(collection.active_generation)
        vector = findings.vectors[collection.pk]
        found = store(collection.store).dense(
            space=space, query=vector, limit=looking.depth, where=looking.where, seconds=left
        )
        findings.ways[f"meaning in {collection.name}"] = found.way
        ranked += [(similarity(hit.distance, metric=space.distance), hit) for hit in found.hits]
        findings.note_guests(found.hits, collection)
        del waiting[0]
    return True


def _compare(collections: Sequence[Collection], findings: Findings, seconds: float | None) -> None:
    """Similarities of what words alone found."""
    missing = [hit.chunk_id for hit in findings.lexical if hit.chunk_id not in findings.similarities]
    for collection in collections if missing else ():
        if findings.said(_SIMILARITIES_CUT):
            break
        assert collection.active_generation is not None
        space = space_of(collection.active_generation)
        found = findings.attempt(
            "similarity_failed",
            "Some similarities could not be computed: they count as 0.",
            lambda collection=collection, space=space: store(collection.store).distances(  # type: ignore[misc]
                space=space, query=findings.vectors[collection.pk], chunk_ids=missing
            ),
            seconds=seconds,
            cut=_SIMILARITIES_CUT,
        )
        for chunk_id, distance in (found or {}).items():
            findings.similarities[chunk_id] = similarity(distance, metric=space.distance)
