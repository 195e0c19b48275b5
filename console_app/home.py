"""The first page: what there is, what is going on, what to do next."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from access_app.reach import patterns_of
from collections_app.models import Collection
from console_app.permissions import abilities
from console_app.progress import progress_of
from console_app.reached import collections_for
from console_app.selectors import recent_collections, recent_jobs
from core_app.errors import RagsiteError
from core_app.wiring import embedder, pair_scorer

COLLECTIONS_SHOWN = 10
JOBS_SHOWN = 6


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page; each part only for those who may see it."""
    may = abilities(request.user)
    collections: list[Collection] = []
    if may["view_collections"]:
        collections = recent_collections(collections_for(request.user, "view_collections"), limit=COLLECTIONS_SHOWN)
    engine = embedder().query_engine
    return {
        **context,
        **jobs_context(request),
        "may": may,
        "collections": collections,
        "query_engine": engine,
        "cross_encoder": _cross_encoder(),
    }


def _cross_encoder() -> str | None:
    try:
        scorer = pair_scorer()
    except RagsiteError:
        return None  # the rows of health say why
    return None if scorer is None else scorer.model


def jobs_context(request: HttpRequest) -> dict[str, Any]:
    """The part of the home page that is polled while any job runs."""
    may = abilities(request.user)
    patterns = patterns_of(request.user, "ingest.view_job")
    jobs = [progress_of(job) for job in recent_jobs(limit=JOBS_SHOWN, patterns=patterns)] if may["view_jobs"] else []
    return {"jobs": jobs, "any_running": any(not job.is_over for job in jobs), "may": may}
