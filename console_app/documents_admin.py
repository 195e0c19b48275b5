"""Documents: listed, read with the borders of their chunks, ingested again, removed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from collections_app.borders import read_stretch
from collections_app.models import Chunk, Document
from console_app.failures import EXPECTED, sentence
from console_app.listing import document_list
from console_app.pages import Action, ServiceAdmin
from console_app.permissions import may, require
from core_app.keyset import Listed, Place, page_in, place_from
from ingest_app.again import recut_document, reread_document, ways
from ingest_app.services import delete_source

CHUNKS_PER_PAGE = 25


@admin.register(Document)
class DocumentAdmin(ServiceAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).select_related("collection")

    def get_urls(self) -> list[URLPattern]:
        read = path(
            "<int:document_id>/read/", self.admin_site.admin_view(self.read_view), name="collections_document_read"
        )
        again = path(
            "<int:document_id>/again/", self.admin_site.admin_view(self.again_view), name="collections_document_again"
        )
        return [read, again, *super().get_urls()]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "upload"):
            return []
        return [Action(label=_("Upload files"), url=reverse("admin:ingest_job_add"), icon="upload_file", primary=True)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Documents, newest first, a page at a time."""
        require(request, "view_documents")
        title = _("Documents")
        return self.page(
            request,
            "documents.html",
            title=title,
            opts=None,
            content_title=title,
            list=document_list(request),
            list_actions=self.list_actions(request),
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One document with its chunks in order."""
        require(request, "view_documents")
        row = self.found(request, object_id)
        chunks = _chunks(row, place_from(request.GET)) if may(request.user, "view_chunks", row) else None
        return self.page(
            request, "document.html", title=row.title or row.source, row=row, chunks=chunks, ways=ways(document=row)
        )

    def read_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        """A document's text with the borders of its chunks, a stretch at a time."""
        require(request, "read_documents")
        row = self.found(request, str(document_id))
        stretch = read_stretch(document_id=row.pk, start=_number(request.GET.get("at", "")))
        return self.page(request, "document_read.html", title=row.title or row.source, row=row, stretch=stretch)

    def again_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        """Ingest one document again: from its kept text or, with `reread`, by its connector."""
        require(request, "ingest_again")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        reads = "reread" in request.POST
        if reads:
            require(request, "run_connectors")
        row = self.found(request, str(document_id))
        again = reread_document if reads else recut_document
        try:
            job = again(document_id=row.pk)
        except EXPECTED as error:
            messages.error(request, sentence(error))
            return redirect("admin:collections_document_change", row.pk)
        if may(request.user, "view_jobs", row):
            return redirect("admin:ingest_job_change", job.pk)
        messages.success(request, _("The document waits to be ingested again."))
        return redirect("admin:collections_document_change", row.pk)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Remove a document with its chunks, vectors and words."""
        require(request, "delete_documents")
        row = self.found(request, object_id)
        if request.method == "POST":
            try:
                removed = delete_source(collection_name=row.collection.name, source=row.source)
            except EXPECTED as error:
                messages.error(request, sentence(error))
                return redirect(request.path)
            said = ngettext(
                "'%(source)s' was deleted with %(count)s chunk.",
                "'%(source)s' was deleted with %(count)s chunks.",
                removed,
            )
            messages.success(request, said % {"source": row.source, "count": f"{removed:,}"})
            url = reverse("admin:collections_document_changelist")
            return redirect(f"{url}?collection__id__exact={row.collection_id}")
        return self.page(request, "document_delete.html", title=_("Delete document"), row=row)


def _chunks(document: Document, place: Place) -> Listed[Chunk]:
    """A page of a document's chunks in order."""
    rows = Chunk.objects.filter(document=document).defer("metadata", "original_text")
    return page_in(rows, place=place, size=CHUNKS_PER_PAGE, by="ordinal", newest_first=False)


def _number(text: str) -> int:
    """0 for what is none, or has more digits than a text has characters."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
