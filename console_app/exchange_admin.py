"""Collections written out to a file, files of that kind read in, and copies."""

from __future__ import annotations

from typing import IO, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminFileFieldWidget,
    UnfoldAdminTextInputWidget,
)

from access_app.patterns import in_words
from access_app.reach import patterns_of
from collections_app.cloning import MOST_CHUNKS as MOST_COPIED
from collections_app.cloning import Along, is_large
from collections_app.exporting import export_collection
from collections_app.models import Collection
from collections_app.selectors import CollectionSummary, get_collection
from console_app.collection_forms import CloneForm
from console_app.failures import EXPECTED, sentence
from console_app.forms import CollectionForm
from console_app.held import HeldPages
from console_app.permissions import may, require
from core_app.errors import InvalidInput, NotFound, RagsiteError
from core_app.streaming import streamed
from core_app.wiring import app_settings
from ingest_app.copy_jobs import start_copy
from ingest_app.exchange_rows import Report
from ingest_app.import_jobs import start_import
from ingest_app.importing import MOST_CHUNKS, check_import
from ingest_app.models import Job


class ImportForm(forms.Form):
    """A file, and the collection that it goes to."""

    name = forms.CharField(
        max_length=512,
        strip=False,
        label=gettext_lazy("Collection"),
        help_text=gettext_lazy("A new name makes a collection. The settings of one that exists stay as they are."),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    file = forms.FileField(
        label=gettext_lazy("Exported file"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".jsonl,application/x-ndjson"}),
    )

    def clean_file(self) -> Any:
        upload = self.cleaned_data["file"]
        if (upload.size or 0) > app_settings().ingestion.max_request_bytes:
            raise forms.ValidationError(_("This file is larger than the server accepts. Import it on the server."))
        return upload


class ExchangePages(HeldPages):
    """Of collections: export as a download, import as a form that first says what would happen, copies."""

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view, "collections_collection"
        return [
            path("import/", view(self.import_view), name=f"{name}_import"),
            path("<int:collection_id>/export/", view(self.export_view), name=f"{name}_export"),
            path("<int:collection_id>/clone/", view(self.clone_view), name=f"{name}_clone"),
            *super().get_urls(),
        ]

    def export_view(self, request: HttpRequest, collection_id: int) -> HttpResponseBase:
        """The file, with `?vectors=false` a smaller one that is embedded anew where it is imported."""
        require(request, "export_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
        parts = export_collection(name=row.name, vectors=request.GET.get("vectors") != "false")
        return streamed(request=request, parts=parts, content_type="application/x-ndjson", filename=f"{row.name}.jsonl")

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """What a file would do, and then doing it."""
        require(request, "import_collections")
        is_post = request.method == "POST"
        form = ImportForm(request.POST, request.FILES) if is_post else ImportForm(initial=_named(request))
        found: Report | None = None
        errors: dict[str, list[str]] = {}
        if is_post and form.is_valid():
            name, stream = form.cleaned_data["name"], form.cleaned_data["file"].file
            try:
                check_reach(request, name)
                if "import" in request.POST:
                    return self._imported(request, name, stream)
                found = check_import(name=name, stream=stream, bounded=False)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
                errors = (error.errors if isinstance(error, RagsiteError) else None) or {}
        context: dict[str, Any] = {"form": form, "found": found, "errors": errors, "most": MOST_CHUNKS}
        if request.headers.get("HX-Request"):
            return render(request, "console/_import_report.html", context)
        return self.page(request, "collection_import.html", title=_("Import a collection"), **context)

    def clone_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """A copy of a collection under another name."""
        require(request, "clone_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
        form = CloneForm(
            request.POST or None,
            initial={"name": f"{row.name[:500]}-copy"},
            may_copy_tests=may(request.user, "view_tests", row),
        )
        if request.method == "POST" and form.is_valid() and is_name_reached(request, form):
            asked = form.cleaned_data
            along = Along(filters=asked["filters"], test_cases=asked.get("test_cases", False))
            try:
                made = start_copy(name=row.name, new_name=asked["name"], along=along)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self._after_copying(request, row, made)
        return self.page(
            request,
            "collection_clone.html",
            title=_("Copy %(name)s") % {"name": row.name},
            row=row,
            form=form,
            is_large=is_large(name=row.name),
            most=MOST_COPIED,
        )

    def _after_copying(self, request: HttpRequest, row: Collection, made: CollectionSummary | Job) -> HttpResponse:
        if not isinstance(made, Job):
            messages.success(request, _("This is the copy."))
            return redirect("admin:collections_collection_change", made.collection.pk)
        if may(request.user, "view_jobs", row):
            return redirect("admin:ingest_job_change", made.pk)
        messages.success(request, _("The collection is being copied."))
        return redirect("admin:collections_collection_change", row.pk)

    def _imported(self, request: HttpRequest, name: str, stream: IO[bytes]) -> HttpResponse:
        done = start_import(name=name, stream=stream)
        if isinstance(done, Job):
            if may(request.user, "view_jobs", done):
                return redirect("admin:ingest_job_change", done.pk)
            messages.success(request, _("The file was accepted and waits to be imported."))
            return redirect("admin:collections_collection_change", done.collection_id)
        stored = done.chunks.new + done.chunks.replaced
        messages.success(request, _("Imported. Chunks stored: %(count)s.") % {"count": f"{stored:,}"})
        return redirect("admin:collections_collection_change", get_collection(name=name).pk)


def _named(request: HttpRequest) -> dict[str, str]:
    return {"name": request.GET.get("name", "")[:512]}


def check_reach(request: HttpRequest, name: str) -> None:
    """Raise InvalidInput unless the user may write to the collection of this name or alias, or make it."""
    abilities = ["import_collections"]
    try:
        there = get_collection(name=name).name
    except NotFound:
        there = name
        abilities.append("create_collections")
    if not all(may(request.user, ability, there) for ability in abilities):
        raise InvalidInput(_("Your account may not import into a collection of this name. Choose another."))


def is_name_reached(request: HttpRequest, form: CollectionForm | CloneForm) -> bool:
    """Whether the user may make a collection of this name; the form says which names where not."""
    if may(request.user, "create_collections", form.cleaned_data["name"]):
        return True
    names = in_words(sorted(patterns_of(request.user, "collections.add_collection")))
    form.add_error("name", _("Your account may make collections of these names alone: %(names)s.") % {"names": names})
    return False
