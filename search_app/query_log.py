"""Remembers who searched what and what came of it. Whatever goes wrong here, the search is answered."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from core_app.errors import RagsiteError
from core_app.sql import statement
from core_app.wiring import app_settings
from search_app.asking import SearchRequest
from search_app.clock import Clock, Stage
from search_app.masking import hashed, masked, storable
from search_app.models import QueryLog
from search_app.results import STANDING, SearchResult

logger = logging.getLogger(__name__)

MOST_RESULTS = 100
LONGEST_TEXT = 4000
LONGEST_NAME, LONGEST_CODE = 512, 64
#: A row takes a fraction of a millisecond; a table that is locked is not waited for.
MOST_MILLISECONDS = 200
_LARGEST = 2**63 - 1
_NOTHING_FOUND: Mapping[str, Any] = {"error": "", "result_count": 0, "results": "[]", "warnings": []}

Kept = Literal["hashed", "masked", "plain"]


def remember(
    *, request: SearchRequest, text: str, collections: Sequence[str], result: SearchResult, stages: Sequence[Stage]
) -> None:
    """Add a search that was answered to the query log, unless `Search:QueryLog` is off.

    Call it after the search's snapshot, which cannot be written in.
    """
    codes = [warning.code for warning in result.warnings]
    answered = {
        "status": QueryLog.Status.OK if STANDING.issuperset(codes) else QueryLog.Status.DEGRADED,
        "mode": result.mode,
        "fusion": result.fusion,
        "result_count": len(result.hits),
        "results": json.dumps([[hit.collection, hit.id] for hit in result.hits[:MOST_RESULTS]]),
        "warnings": codes,
    }
    _remember(request, text, collections, result.query_strategy, result.took_ms, stages, answered)


def remember_failure(
    *, request: SearchRequest, text: str, collections: Sequence[str], strategy: str, clock: Clock, error: Exception
) -> None:
    """The same for one that failed; the collections are those that were named."""
    if isinstance(error, OperationalError | InterfaceError) and connection.connection is None:
        # It had no connection, and would wait for one as long once more, to say that there was none.
        return
    failed = {
        "status": QueryLog.Status.FAILED,
        "error": _code(error)[:LONGEST_CODE],
        "mode": request.mode or "",
        "fusion": request.fusion or "",
    }
    _remember(request, text, collections, strategy, clock.took_ms, clock.stages, failed)


def _code(error: Exception) -> str:
    """As the API tells it, where it is more than that something went wrong."""
    if isinstance(error, RagsiteError):
        return error.code
    return "database_unavailable" if isinstance(error, DatabaseError | InterfaceError) else "server_error"


def _remember(
    request: SearchRequest,
    text: str,
    collections: Sequence[str],
    strategy: str,
    took_ms: float,
    stages: Sequence[Stage],
    outcome: Mapping[str, Any],
) -> None:
    kept = app_settings().search.query_log
    if kept == "off":
        return
    took: dict[str, float] = {}
    for stage in stages:
        took[stage.name] = round(took.get(stage.name, 0.0) + stage.took_ms, 2)
    try:
        _write(
            {
                "asked_by": storable(request.asked_by),
                "request_id": str(structlog.contextvars.get_contextvars().get("request_id", "")),
                "collections": [storable(name)[:LONGEST_NAME] for name in collections],
                "text": _kept_of(text, kept),
                "text_form": kept,
                "query_strategy": strategy,
                "top_k": max(-_LARGEST, min(request.top_k, _LARGEST)),
                "filtered": request.is_filtered,
                "took_ms": took_ms,
                "is_test": request.is_test,
                "stages_ms": json.dumps(took),
                **_NOTHING_FOUND,
                **outcome,
            }
        )
    except Exception as error:  # noqa: BLE001 - a search that was done is worth more than its entry
        # Neither the message nor the trace: the database quotes the statement there, and so the text.
        cause = getattr(error.__cause__, "sqlstate", None) if isinstance(error, DatabaseError) else None
        logger.error("the query log could not be written", extra={"error": type(error).__name__, "sqlstate": cause})


def _kept_of(text: str, kept: Kept) -> str:
    if kept == "hashed":
        return hashed(text)
    shown = masked(text) if kept == "masked" else storable(text)
    return shown[:LONGEST_TEXT]


def _write(row: Mapping[str, Any]) -> None:
    insert = statement("search_app", "remember_query")
    if connection.in_atomic_block:
        # Not the caller's bounds and promises: these would replace them until the end of the transaction.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(insert, row)
        return
    # Sent as one message, and so a transaction by itself: what a search waits for is one way there and back.
    bounds = statement("search_app", "write_quickly")
    with connection.cursor() as cursor:
        cursor.execute(bounds + insert, {**row, "milliseconds": f"{MOST_MILLISECONDS}ms"})
