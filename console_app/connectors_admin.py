"""Connectors: made, looked at, run, put on another schedule, removed."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from console_app.connector_forms import ConnectorChangesForm, ConnectorForm, schedule_in_words
from console_app.failures import EXPECTED, sentence
from console_app.pages import Action, ServiceAdmin
from console_app.permissions import may, require
from console_app.progress import TONES, progress_of
from console_app.reached import CollectionFilter, names_to_fill
from console_app.templatetags.console import ago, label
from core_app.names import visible
from ingest_app.connectors import (
    change_connector,
    create_connector,
    delete_connector,
    last_jobs,
    run_connector,
)
from ingest_app.models import Connector, Job
from ingest_app.selectors import list_jobs, reports

JOBS_SHOWN = 10
PLACE_CHARACTERS = 60


@admin.register(Connector)
class ConnectorAdmin(ServiceAdmin):
    list_display = ("place", "of_kind", "collection", "schedule", "next_run", "last_run")
    list_display_links = ("place",)
    list_filter = (("collection", CollectionFilter),)
    list_filter_submit = True
    list_select_related = ("collection",)
    search_fields = ("location",)
    search_help_text = gettext_lazy("Search by place")
    ordering = ("collection__name", "created_at")
    empty_title = gettext_noop("No connectors yet")
    empty_text = gettext_noop(
        "A connector keeps a collection in step with a folder of the server, a git repository or a list of addresses."
    )

    def get_urls(self) -> list[URLPattern]:
        run = path("<uuid:connector_id>/run/", self.admin_site.admin_view(self.run_view), name="ingest_connector_run")
        return [run, *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With the last jobs of the rows of this page, read at once."""
        found = super().get_changelist_instance(request)
        jobs = last_jobs(connectors=found.result_list)
        for row in found.result_list:
            row.latest = jobs.get(row.pk)
        return found

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "create_connectors"):
            return []
        return [Action(label=_("New connector"), url=reverse("admin:ingest_connector_add"), icon="add", primary=True)]

    @admin.display(description=gettext_lazy("Place"), ordering="location")
    def place(self, row: Connector) -> str:
        return visible(Truncator(str(row)).chars(PLACE_CHARACTERS))

    @admin.display(description=gettext_lazy("Kind"), ordering="kind")
    def of_kind(self, row: Connector) -> str:
        return row.get_kind_display()

    @admin.display(description=gettext_lazy("Runs"), ordering="every_seconds")
    def schedule(self, row: Connector) -> str:
        return schedule_in_words(row.every_seconds)

    @admin.display(description=gettext_lazy("Next run (UTC)"), ordering="next_run_at")
    def next_run(self, row: Connector) -> Any:
        return row.next_run_at or ""

    @admin.display(description=gettext_lazy("Last run"))
    def last_run(self, row: Any) -> SafeString | str:
        job = row.latest
        if job is None:
            return _("never")
        words = _("%(state)s %(ago)s") % {"state": job.get_state_display(), "ago": ago(job.created_at)}
        return label(words, TONES[job.state])

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a connector."""
        require(request, "create_connectors")
        names = names_to_fill(request.user, "create_connectors")
        form = ConnectorForm(
            request.POST or None,
            collections=[(name, name) for name in names],
            initial={"collection": request.GET.get("collection")},
        )
        if request.method == "POST" and form.is_valid():
            try:
                made = create_connector(collection_name=form.cleaned_data["collection"], new=form.wanted())
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                soon = _("The connector is made. It runs in a few seconds.")
                messages.success(
                    request, soon if made.every_seconds else _("The connector is made. It runs when you ask.")
                )
                return _back(request, made)
        return self.page(request, "connector_add.html", title=_("New connector"), form=form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One connector: what it reads, what it did, when it runs next."""
        require(request, "view_connectors")
        row = self.found(request, object_id)
        editing = request.method == "POST"
        if editing:
            require(request, "change_connectors")
        form = ConnectorChangesForm(request.POST if editing else None, connector=row)
        if editing and form.is_valid():
            try:
                change_connector(connector=row, values=form.values())
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                messages.success(request, _("The connector was changed."))
                return redirect(request.path)
        jobs: QuerySet[Job] | None = None
        if may(request.user, "view_jobs", row):
            newest = list_jobs().filter(connector=row).values_list("pk", flat=True)[:JOBS_SHOWN]
            jobs = list_jobs().filter(pk__in=list(newest))
        shown = [progress_of(found) for found in reports(jobs)] if jobs is not None else []
        return self.page(request, "connector.html", title=str(row), row=row, form=form, jobs=shown)

    def run_view(self, request: HttpRequest, connector_id: uuid.UUID) -> HttpResponse:
        """Read the place now, or say what that would do."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        require(request, "run_connectors")
        row = self.found(request, str(connector_id))
        try:
            job = run_connector(connector=row, dry_run="dry_run" in request.POST)
        except EXPECTED as error:
            messages.error(request, sentence(error))
            return _back(request, row)
        if may(request.user, "view_jobs", row):
            return redirect("admin:ingest_job_change", job.pk)
        messages.success(request, _("It is being read."))
        return _back(request, row)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Forget a connector, once that was confirmed."""
        require(request, "delete_connectors")
        row = self.found(request, object_id)
        if request.method == "POST":
            try:
                delete_connector(connector=row)
            except EXPECTED as error:
                messages.error(request, sentence(error))
            else:
                messages.success(request, _("The connector was removed. Its documents stay."))
            return redirect("admin:ingest_connector_changelist")
        return self.page(request, "connector_delete.html", title=_("Remove connector"), row=row)


def _back(request: HttpRequest, row: Connector) -> HttpResponse:
    if may(request.user, "view_connectors", row):
        return redirect("admin:ingest_connector_change", row.pk)
    return redirect("admin:index")
