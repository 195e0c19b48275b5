"""The parts of the home page that are asked for once it stands: what is slow to count, and what may hang."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.admin import AdminSite
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path

from access_app.patterns import is_everything
from access_app.reach import patterns_of
from collections_app.coverage import Coverage, count_without_vectors, coverage_of
from collections_app.models import Collection
from console_app.health import health_rows
from console_app.permissions import abilities, require
from console_app.reached import collections_for
from console_app.selectors import recent_collections
from core_app.snapshot import in_time
from core_app.wiring import app_settings
from ingest_app.failures import Failure, newest_failures
from search_app.activity import SAMPLE, Day, searches_by_day

COLLECTIONS_SHOWN = 10
FAILURES_SHOWN = 5
DAYS_SHOWN = 14
#: A count that takes longer is given up, and the page says so.
COUNT_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class CoverageRow:
    """What is missing in one collection."""

    collection: Collection
    #: None where counting took too long, here and below.
    found: Coverage | None
    without_vectors: int | None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        documents = self.found is not None and (self.found.without_chunks or self.found.failed)
        return not (documents or self.without_vectors)


@dataclass(frozen=True, kw_only=True)
class DayBar:
    """One day of the chart."""

    day: Day
    #: 0 to 100, of the busiest day.
    percent: int
    nothing_percent: int | None
    warned_percent: int | None


def home_urls(site: AdminSite) -> list[URLPattern]:
    """The addresses of the parts."""
    views = {
        "health": health_view,
        "searches": searches_view,
        "coverage": coverage_view,
        "failures": failures_view,
    }
    return [
        path(f"home/{name}/", site.admin_view(view), name=f"collections_collection_home_{name}")
        for name, view in views.items()
    ]


def health_view(request: HttpRequest) -> HttpResponse:
    """How each part of the server does, and what helps."""
    require(request, "view_jobs")
    return render(request, "console/home/_health.html", {"rows": health_rows(request)})


def searches_view(request: HttpRequest) -> HttpResponse:
    """How much is searched, how fast, and how often in vain."""
    require(request, "view_queries")
    is_off = app_settings().search.query_log == "off"
    # Counted over all collections, so for those who see all of them.
    is_partial = not is_everything(patterns_of(request.user, "search.view_querylog"))
    days = [] if is_partial else searches_by_day(days=DAYS_SHOWN)
    context = {"bars": bars(days), "any": any(day.total for day in days), "is_off": is_off, "is_partial": is_partial}
    return render(request, "console/home/_searches.html", {**context, "sample": SAMPLE})


def coverage_view(request: HttpRequest) -> HttpResponse:
    """What is missing in the collections that changed last."""
    require(request, "view_collections")
    rows = coverage_rows(recent_collections(collections_for(request.user, "view_collections"), limit=COLLECTIONS_SHOWN))
    return render(request, "console/home/_coverage.html", {"rows": rows})


def failures_view(request: HttpRequest) -> HttpResponse:
    """What failed last, with what helps."""
    require(request, "view_jobs")
    failures: Sequence[Failure] = newest_failures(
        limit=FAILURES_SHOWN, patterns=patterns_of(request.user, "ingest.view_job")
    )
    return render(request, "console/home/_failures.html", {"failures": failures, "may": abilities(request.user)})


def coverage_rows(collections: Sequence[Collection]) -> list[CoverageRow]:
    """What is missing in each, in two statements with a bound on the time of each."""
    with transaction.atomic():
        found = in_time(lambda: coverage_of(collections=collections), seconds=COUNT_SECONDS)
        missing = in_time(lambda: count_without_vectors(collections=collections), seconds=COUNT_SECONDS)
    # What took too long is said to be not counted.
    documents, chunks = found or {}, missing or {}
    return [
        CoverageRow(collection=row, found=documents.get(row.pk), without_vectors=chunks.get(row.pk))
        for row in collections
    ]


def bars(days: Sequence[Day]) -> list[DayBar]:
    """Days with the heights of their bars."""
    busiest = max((day.total for day in days), default=0)

    def share(part: int, whole: int) -> int | None:
        return math.ceil(100 * part / whole) if whole else None

    return [
        DayBar(
            day=day,
            percent=share(day.total, busiest) or 0,
            nothing_percent=share(day.nothing_found, day.sample),
            warned_percent=share(day.warned, day.sample),
        )
        for day in days
    ]
