"""Jobs: started by an upload, watched while they run, cancelled and tried again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from collections_app.models import Collection
from console_app.failures import EXPECTED, GONE, sentence
from console_app.forms import UploadForm
from console_app.home import jobs_context
from console_app.job_list import job_list
from console_app.pages import Action, ServiceAdmin
from console_app.permissions import abilities, may, require
from console_app.progress import ITEMS_SHOWN, TONES, fingerprint, group_items, progress_of, would_change
from console_app.reached import names_to_fill
from console_app.selectors import with_item_totals
from console_app.templatetags.console import took
from core_app.wiring import app_settings
from ingest_app.history import MOST_EVENTS, history
from ingest_app.models import Item, Job
from ingest_app.selectors import item_totals, items_first, items_for_log, report
from ingest_app.steering import can_be_retried, cancel_job, retriable_items, retry_job
from ingest_app.submitting import Source, submit
from ingest_app.uploads import sent_name

#: htmx's signal to stop asking.
STOP_POLLING = 286
NOTHING_NEW = 204
#: Of an item's place: what the database's integer holds.
MOST_DIGITS = 9


@admin.register(Job)
class JobAdmin(ServiceAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return with_item_totals(super().get_queryset(request).select_related("collection"))

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(f"<uuid:job_id>/{name}/", self.admin_site.admin_view(view), name=f"ingest_job_{name}")
            for name, view in (
                ("progress", self.progress_view),
                ("cancel", self.cancel_view),
                ("retry", self.retry_view),
                ("log", self.log_view),
            )
        ]
        recent = path("recent/", self.admin_site.admin_view(self.recent_view), name="ingest_job_recent")
        return [recent, *own, *super().get_urls()]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "upload"):
            return []
        return [Action(label=_("Upload files"), url=reverse("admin:ingest_job_add"), icon="upload_file", primary=True)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Jobs, newest first, a page at a time."""
        require(request, "view_jobs")
        return self.page(
            request,
            "jobs.html",
            title=_("Jobs"),
            opts=None,
            content_title=_("Jobs"),
            list=job_list(request, self.get_queryset(request)),
            list_actions=self.list_actions(request),
        )

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Upload files: what adding a job means."""
        require(request, "upload")
        posted = request.method == "POST"
        form = UploadForm(
            request.POST if posted else None,
            request.FILES if posted else None,
            collections=_collections(request),
            initial={"collection": request.GET.get("collection")},
        )
        if posted and form.is_valid():
            try:
                job = submit(collection_name=form.cleaned_data["collection"], sources=_sources(form))
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self._after(request, job)
        limits = app_settings().ingestion
        return self.page(request, "upload.html", title=_("Upload files"), form=form, limits=limits)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One job, kept up to date while it runs."""
        require(request, "view_jobs")
        row = self.found(request, object_id)
        title = f"{row.collection_name or row.get_kind_display()}, {date_format(row.created_at, 'DATETIME_FORMAT')}"
        return self.page(request, "job.html", title=title, row=row, **_live(request, row))

    def recent_view(self, request: HttpRequest) -> HttpResponse:
        """The newest jobs as the home page shows them; stops being asked for when none runs."""
        require(request, "view_jobs")
        context = jobs_context(request)
        return render(request, "console/_jobs.html", context, status=200 if context["any_running"] else STOP_POLLING)

    def progress_view(self, request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
        """What of the job's page changes; empty while nothing did, and the last time with htmx's stop sign."""
        require(request, "view_jobs")
        try:
            live = _live(request, self.found(request, str(job_id)))
        except Http404:
            return render(request, "console/_gone.html", {"text": GONE}, status=STOP_POLLING)
        if live["progress"].is_over:
            return render(request, "console/_job.html", live, status=STOP_POLLING)
        if request.GET.get("seen") == live["seen"]:
            return HttpResponse(status=NOTHING_NEW)
        return render(request, "console/_job.html", live)

    def cancel_view(self, request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
        """Ask a job to stop."""
        return self._steer(request, job_id, cancel_job)

    def retry_view(self, request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
        """Queue what failed or was cancelled again."""
        item = request.POST.get("item", "")
        if not item:
            return self._steer(request, job_id, retry_job)
        if not (item.isascii() and item.isdecimal() and len(item) <= MOST_DIGITS):
            raise Http404
        return self._steer(request, job_id, partial(retry_job, ordinal=int(item)))

    def log_view(self, request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
        """What happened to a job, and when."""
        require(request, "view_jobs")
        row = self.found(request, str(job_id))
        items = items_for_log(job=row, limit=MOST_EVENTS)
        return self.page(
            request,
            "job_log.html",
            title=_("Log of job %(id)s") % {"id": row.pk},
            row=row,
            events=history(job=row, items=items),
            hidden=max(0, item_totals(job=row).total - MOST_EVENTS),
        )

    def _steer(self, request: HttpRequest, job_id: uuid.UUID, service: Callable[..., Job]) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        require(request, "steer_jobs")
        job = self.found(request, str(job_id))
        try:
            if job.kind == Job.Kind.EMPTY and service is not cancel_job:
                require(request, "empty_collections")
            service(job=job)
        except EXPECTED as error:
            messages.error(request, sentence(error))
        return redirect("admin:ingest_job_change", job_id)

    def _after(self, request: HttpRequest, job: Job) -> HttpResponse:
        if may(request.user, "view_jobs", job):
            return redirect("admin:ingest_job_change", job.pk)
        messages.success(request, _("The files were accepted and wait to be indexed."))
        return redirect("admin:index")


def _collections(request: HttpRequest) -> list[tuple[str, str]]:
    """Those this user may upload to; the default one too where using it may bring it into being."""
    names = names_to_fill(request.user, "upload")
    default = app_settings().vector_database.default_collection
    choices = [(name, name) for name in names]
    if default not in names and all(may(request.user, need, default) for need in ("upload", "create_collections")):
        choices.append((default, _("%(name)s (new, the default)") % {"name": default}))
    return choices


def _sources(form: UploadForm) -> list[Source]:
    metadata = form.cleaned_data["metadata"]
    return [
        Source(name=sent_name(upload), content=upload.read(), metadata=metadata) for upload in form.cleaned_data["file"]
    ]


def _live(request: HttpRequest, job: Job) -> dict[str, Any]:
    """The context of the part of the page that is polled."""
    found, totals = report(job=job, with_items=False), item_totals(job=job)
    may_retry = found.job.kind != Job.Kind.EMPTY or may(request.user, "empty_collections", job)
    chosen = request.GET.get("show", "")
    chosen = chosen if chosen in Item.State.values else ""
    items = items_first(job=job, limit=ITEMS_SHOWN, state=chosen)
    return {
        "progress": progress_of(found),
        "has_items": found.job.has_items,
        "would_change": would_change(found.job),
        "seen": fingerprint(found, totals),
        "show": chosen,
        "groups": group_items(totals, chosen=chosen),
        "items": items,
        "retriable": retriable_items(job=found.job, among=items),
        "hidden": max(0, (totals.by_state.get(chosen, 0) if chosen else totals.total) - ITEMS_SHOWN),
        "item_tones": TONES,
        "took": took(found.job),
        "copy_url": _copy_url(request, found.job),
        "can_retry": may_retry and can_be_retried(job=found.job),
        "may": abilities(request.user, job),
    }


def _copy_url(request: HttpRequest, job: Job) -> str:
    """Where the copy is that a job has made; empty for whoever does not reach it."""
    if job.kind != Job.Kind.COPY or job.state != Job.State.SUCCEEDED or job.result is None:
        return ""
    made = Collection.objects.filter(pk=job.result["collection_id"]).first()
    if made is None or not may(request.user, "view_collections", made):
        return ""
    return reverse("admin:collections_collection_change", args=[made.pk])
