"""Collections written out to a file, and files of that kind read in."""

from __future__ import annotations

from typing import IO, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminFileFieldWidget,
    UnfoldAdminTextInputWidget,
)

from collections_app.exporting import export_collection
from collections_app.selectors import get_collection
from console_app.failures import EXPECTED, sentence
from console_app.pages import ServiceAdmin
from console_app.permissions import may, require
from core_app.errors import InvalidInput, NotFound, RagsiteError
from core_app.streaming import streamed
from core_app.wiring import app_settings
from ingest_app.exchange_rows import Report
from ingest_app.importing import MOST_CHUNKS, check_import, import_collection


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


class ExchangePages(ServiceAdmin):
    """Of collections: export as a download, import as a form that first says what would happen."""

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view, "collections_collection"
        return [
            path("import/", view(self.import_view), name=f"{name}_import"),
            path("<int:collection_id>/export/", view(self.export_view), name=f"{name}_export"),
            *super().get_urls(),
        ]

    def export_view(self, request: HttpRequest, collection_id: int) -> StreamingHttpResponse:
        """The file, with `?vectors=false` a smaller one that is embedded anew where it is imported."""
        require(request, "export_collections")
        row = self.found(request, str(collection_id))
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
                _check_reach(request, name)
                if "import" in request.POST:
                    return self._imported(request, name, stream)
                found = check_import(name=name, stream=stream)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
                errors = (error.errors if isinstance(error, RagsiteError) else None) or {}
        context: dict[str, Any] = {"form": form, "found": found, "errors": errors, "most": MOST_CHUNKS}
        if request.headers.get("HX-Request"):
            return render(request, "console/_import_report.html", context)
        return self.page(request, "collection_import.html", title=_("Import a collection"), **context)

    def _imported(self, request: HttpRequest, name: str, stream: IO[bytes]) -> HttpResponse:
        done = import_collection(name=name, stream=stream)
        stored = done.chunks.new + done.chunks.replaced
        messages.success(request, _("Imported. Chunks stored: %(count)s.") % {"count": f"{stored:,}"})
        return redirect("admin:collections_collection_change", get_collection(name=name).pk)


def _named(request: HttpRequest) -> dict[str, str]:
    return {"name": request.GET.get("name", "")[:512]}


def _check_reach(request: HttpRequest, name: str) -> None:
    """Raise InvalidInput unless the user may write to the collection of this name or alias, or make it."""
    abilities = ["import_collections"]
    try:
        there = get_collection(name=name).name
    except NotFound:
        there = name
        abilities.append("create_collections")
    if not all(may(request.user, ability, there) for ability in abilities):
        raise InvalidInput(_("Your account may not import into a collection of this name. Choose another."))
