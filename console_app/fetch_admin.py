"""The page that copies a collection that a connection leads to, by a job."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from console_app.exchange_admin import check_reach
from console_app.failures import EXPECTED, sentence
from console_app.held_there import ThereForm, look_there
from console_app.pages import ServiceAdmin
from console_app.permissions import may, require
from core_app.errors import InvalidInput
from ingest_app.fetch_jobs import SERVER, Found, check_fetch, start_fetch
from ingest_app.models import Job

#: Chunks that are read while somebody waits for the page.
MOST_CHECKED = 10_000


class FetchPages(ServiceAdmin):
    """Of connections: their collections, copied into one of this server's."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.fetch_view)
        return [path("<int:connection_id>/import/", view, name="connections_connection_import"), *super().get_urls()]

    def fetch_view(self, request: HttpRequest, connection_id: int) -> HttpResponse:
        """The collections there, a form that says what would come of one, and the job that copies it."""
        require(request, "fetch_collections")
        row = self.found(request, str(connection_id))
        there = look_there(row)
        form = ThereForm(request.POST if request.method == "POST" else None, there=there)
        found: Found | None = None
        if request.method == "POST" and form.is_valid():
            asked = form.cleaned_data
            name, name_there, model = asked["name"], asked["name_there"], SERVER if asked["same_model"] else ""
            try:
                check_reach(request, name)
                if "import" in request.POST:
                    job = start_fetch(name=name, service=row.name, name_there=name_there, model=model)
                    return self._begun(request, job)
                if (there.count(name_there) or 0) > MOST_CHECKED:
                    raise InvalidInput(_("It is too large to be checked here. The job tells of what cannot be held."))
                found = check_fetch(name=name, service=row.name, name_there=name_there, model=model)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
        title = _("Import a collection of %(name)s") % {"name": row.name}
        return self.page(request, "connection_import.html", title=title, row=row, form=form, there=there, found=found)

    def _begun(self, request: HttpRequest, job: Job) -> HttpResponse:
        if may(request.user, "view_jobs", job):
            return redirect("admin:ingest_job_change", job.pk)
        messages.success(request, _("The collection is being copied."))
        return redirect("admin:collections_collection_change", job.collection_id)
