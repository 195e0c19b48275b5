"""The first page: what there is, what is going on, what to do next."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from console_app.permissions import abilities
from console_app.progress import progress_of
from console_app.selectors import recent_collections, recent_jobs
from core_app.wiring import embedder, pair_scorer

COLLECTIONS_SHOWN = 10
JOBS_SHOWN = 6


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the home page; each part only for those who may see it."""
    may = abilities(request.user)
    collections = recent_collections(limit=COLLECTIONS_SHOWN) if may["view_collections"] else []
    engine = embedder().query_engine
    scorer = pair_scorer()
    return {
        **context,
        **jobs_context(request),
        "may": may,
        "collections": collections,
        "query_engine": engine,
        "cross_encoder": None if scorer is None else scorer.model,
    }


def jobs_context(request: HttpRequest) -> dict[str, Any]:
    """The part of the home page that is polled while any job runs."""
    may = abilities(request.user)
    jobs = [progress_of(job) for job in recent_jobs(limit=JOBS_SHOWN)] if may["view_jobs"] else []
    return {"jobs": jobs, "any_running": any(not job.is_over for job in jobs), "may": may}
