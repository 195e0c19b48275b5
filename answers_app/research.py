"""A topic, searched in several steps (C-REQ-006, C-REQ-007).

It is broken into sub-queries, these are searched at the same time, and others while too little was found.
"""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import connection, connections

from answers_app.decomposing import Planner, planner
from answers_app.evidence import Warned
from collections_app.selectors import get_collections
from core_app.errors import InvalidInput, RagsiteError
from core_app.wiring import app_settings
from search_app.results import Hit, SearchResult
from search_app.services import search_collections

logger = logging.getLogger(__name__)

Found = TypeVar("Found")

MAX_TOPIC = 4000
ITERATIONS, MOST_ITERATIONS = 3, 5
#: Of one sub-query; of all, the best of each in turn.
PER_SEARCH, MOST_FINDINGS = 5, 20
#: At a time, each with a connection to the database.
_PARALLEL = 4


@dataclass(frozen=True, kw_only=True)
class Research:
    """What was found of a topic, and what that took."""

    topic: str
    #: In the order in which they were asked.
    queries: Sequence[str]
    iterations: int
    findings: Sequence[Hit]
    warnings: Sequence[Warned]

    @property
    def searches_performed(self) -> int:
        return len(self.queries)


@dataclass(kw_only=True)
class _Notes:
    """What has been asked and found so far."""

    asked: list[str] = field(default_factory=list)
    #: By sub-query, best first, each passage at the first that found it.
    found: list[list[Hit]] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)
    warnings: dict[str, Warned] = field(default_factory=dict)

    def add(self, query: str, result: SearchResult) -> None:
        self.asked.append(query)
        fresh = [hit for hit in result.hits if (hit.collection, hit.id) not in self.seen]
        self.seen |= {(hit.collection, hit.id) for hit in fresh}
        self.found.append(fresh)
        for warning in result.warnings:
            self.warn(warning.code, warning.detail)

    def warn(self, code: str, detail: str) -> None:
        self.warnings.setdefault(code, Warned(code=code, detail=detail))

    @property
    def findings(self) -> list[Hit]:
        """The best of each sub-query, then the second best of each, and so on."""
        depth = max(map(len, self.found), default=0)
        return [hits[place] for place in range(depth) for hits in self.found if place < len(hits)][:MOST_FINDINGS]


def research(
    *, topic: str, collections: Sequence[str], max_iterations: int = ITERATIONS, asked_by: str = "server"
) -> Research:
    """Passages about a topic from several searches in `thorough` mode.

    Without a chat model it is broken into parts by rule, and says so. Stops when enough was found, after so many
    iterations, or when Answers:ResearchSeconds are over. Raises InvalidInput, NotFound, and what a search raises when
    the first of them fails.
    """
    _check(topic, max_iterations)
    get_collections(names=collections)
    deadline = time.monotonic() + app_settings().answers.research_seconds
    notes, plan = _Notes(), planner(topic=topic, deadline=deadline)
    queries, iterations = plan.first(), 0
    while queries and iterations < max_iterations:
        iterations += 1
        _search(notes, queries, collections, asked_by)
        if time.monotonic() >= deadline:
            notes.warn("time_over", "The time for research was over: there may be more to find.")
            break
        queries = [query for query in plan.further(notes.asked, notes.findings) if query not in notes.asked]
    _tell(plan, notes)
    logger.info(
        "topic researched",
        extra={"iterations": iterations, "searches": len(notes.asked), "findings": len(notes.findings)},
    )
    return Research(
        topic=topic,
        queries=notes.asked,
        iterations=iterations,
        findings=notes.findings,
        warnings=list(notes.warnings.values()),
    )


def _check(topic: str, max_iterations: int) -> None:
    if not topic.strip() or len(topic) > MAX_TOPIC:
        raise InvalidInput(f"Send a topic of 1 to {MAX_TOPIC} characters.", code="invalid")
    if not 1 <= max_iterations <= MOST_ITERATIONS:
        raise InvalidInput(f"maxIterations: must be from 1 to {MOST_ITERATIONS}.", code="invalid")


def _tell(plan: Planner, notes: _Notes) -> None:
    if plan.problem is not None:
        notes.warn(plan.problem.code, plan.problem.detail)


def _search(notes: _Notes, queries: Sequence[str], collections: Sequence[str], asked_by: str) -> None:
    """All at the same time; one that fails is told, unless nothing was found before."""

    def find(query: str) -> SearchResult | RagsiteError:
        try:
            return search_collections(
                collection_names=collections, query=query, top_k=PER_SEARCH, mode="thorough", asked_by=asked_by
            )
        except RagsiteError as error:
            return error

    results = [find(query) for query in queries] if connection.in_atomic_block else _together(find, queries)
    failed = [result for result in results if isinstance(result, RagsiteError)]
    if failed and len(failed) == len(results) and not notes.asked:
        raise failed[0]
    for query, result in zip(queries, results, strict=True):
        if isinstance(result, RagsiteError):
            notes.warn(result.code, result.detail)
        else:
            notes.add(query, result)


def _together(find: Callable[[str], Found], queries: Sequence[str]) -> list[Found]:
    """In threads with connections of their own, which do not see what a transaction of the caller's has written."""

    def work(query: str) -> Found:
        try:
            return find(query)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=min(_PARALLEL, len(queries)), thread_name_prefix="research") as pool:
        futures = [pool.submit(contextvars.copy_context().run, work, query) for query in queries]
        return [future.result() for future in futures]
