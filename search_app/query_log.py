"""Remembers who searched what and what came of it. Whatever goes wrong here, the search is answered."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal

import structlog
from django.db import DatabaseError, connection, transaction

from collections_app.models import Collection
from core_app.sql import statement
from core_app.wiring import app_settings
from search_app.asking import SearchRequest
from search_app.clock import Stage
from search_app.masking import hashed, masked, storable
from search_app.models import QueryLog
from search_app.results import SearchResult

logger = logging.getLogger(__name__)

MOST_RESULTS = 100
LONGEST_TEXT = 4000
#: A row takes a fraction of a millisecond; a table that is locked is not waited for.
MOST_MILLISECONDS = 200
_LARGEST = 2**63 - 1

Kept = Literal["hashed", "masked", "plain"]


def remember(
    *,
    request: SearchRequest,
    text: str,
    collections: Sequence[Collection],
    result: SearchResult,
    stages: Sequence[Stage],
) -> None:
    """Add the search to the query log, unless `Search:QueryLog` is off.

    Call it after the search's snapshot, which cannot be written in.
    """
    kept = app_settings().search.query_log
    if kept == "off":
        return
    try:
        _write(_row(request, _kept_of(text, kept), kept, collections, result, stages))
    except Exception as error:  # noqa: BLE001 - a search that was done is worth more than its entry
        # Neither the message nor the trace: the database quotes the statement there, and so the text.
        cause = getattr(error.__cause__, "sqlstate", None) if isinstance(error, DatabaseError) else None
        logger.error("the query log could not be written", extra={"error": type(error).__name__, "sqlstate": cause})


def _row(
    request: SearchRequest,
    text: str,
    kept: Kept,
    collections: Sequence[Collection],
    result: SearchResult,
    stages: Sequence[Stage],
) -> QueryLog:
    took: dict[str, float] = {}
    for stage in stages:
        took[stage.name] = round(took.get(stage.name, 0.0) + stage.took_ms, 2)
    return QueryLog(
        asked_by=storable(request.asked_by),
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", "")),
        collections=[collection.name for collection in collections],
        text=text,
        text_form=kept,
        mode=result.mode,
        fusion=result.fusion,
        query_strategy=result.query_strategy,
        top_k=max(-_LARGEST, min(request.top_k, _LARGEST)),
        filtered=request.where is not None,
        result_count=len(result.hits),
        results=[[hit.collection, hit.id] for hit in result.hits[:MOST_RESULTS]],
        warnings=[warning.code for warning in result.warnings],
        took_ms=result.took_ms,
        stages_ms=took,
    )


def _kept_of(text: str, kept: Kept) -> str:
    if kept == "hashed":
        return hashed(text)
    shown = masked(text) if kept == "masked" else storable(text)
    return shown[:LONGEST_TEXT]


def _write(row: QueryLog) -> None:
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            # Not the caller's transaction, whose own bounds and promises these would replace.
            with connection.cursor() as cursor:
                cursor.execute(statement("search_app", "write_quickly"), {"milliseconds": f"{MOST_MILLISECONDS}ms"})
        row.save(force_insert=True)
