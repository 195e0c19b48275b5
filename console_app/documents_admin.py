"""Documents and their chunks: looked at here, removed through the ingestion service."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Left, Replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import (  # type: ignore[import-untyped]
    DropdownFilter,
    RelatedDropdownFilter,
)

from collections_app.models import Chunk, Document
from console_app.failures import EXPECTED, sentence
from console_app.pages import Action, CappedPaginator, ServiceAdmin
from console_app.permissions import may, require
from console_app.selectors import neighbours
from console_app.templatetags.console import ago, label, sections
from ingest_app.services import delete_source

CHUNKS_PER_PAGE = 25
EXCERPT_LENGTH = 120


class OutcomeFilter(DropdownFilter):  # type: ignore[misc]  # django-unfold has no types
    """Documents by what became of them, failed updates of good documents included."""

    title = "state"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ready", "Ready"), ("stale", "Ready, last update failed"), ("failed", "Failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:
        match self.value():
            case "ready":
                return queryset.filter(state=Document.State.READY, error="")
            case "stale":
                return queryset.filter(state=Document.State.READY).exclude(error="")
            case "failed":
                return queryset.filter(state=Document.State.FAILED)
        return queryset


@admin.register(Document)
class DocumentAdmin(ServiceAdmin):
    list_display = ("name", "heading", "collection", "outcome", "chunks", "size", "changed")
    list_display_links = ("name",)
    list_filter = (("collection", RelatedDropdownFilter), OutcomeFilter)
    list_filter_submit = True
    list_select_related = ("collection",)
    search_fields = ("source", "title")
    search_help_text = "Search by source or title"
    ordering = ("-updated_at",)
    paginator = CappedPaginator
    empty_title = "No documents"
    empty_text = "Documents appear here as soon as uploaded files are indexed."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).defer("metadata", "content_hash")

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "upload"):
            return []
        return [Action(label="Upload files", url=reverse("admin:ingest_job_add"), icon="upload_file", primary=True)]

    @admin.display(description="Source", ordering="source")
    def name(self, row: Document) -> SafeString:
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', row.source)

    @admin.display(description="Title", ordering="title")
    def heading(self, row: Document) -> SafeString:
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', row.title)

    @admin.display(description="State", ordering="state")
    def outcome(self, row: Document) -> SafeString:
        return document_label(row)

    @admin.display(ordering="chunk_count")
    def chunks(self, row: Document) -> str:
        return f"{row.chunk_count:,}"

    @admin.display(description="Last change", ordering="updated_at")
    def changed(self, row: Document) -> str:
        return ago(row.updated_at)

    @admin.display(ordering="size_bytes")
    def size(self, row: Document) -> str:
        return str(filesizeformat(row.size_bytes))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One document with its chunks in order."""
        require(request, "view_documents")
        row = self.found(request, object_id)
        chunks = None
        if may(request.user, "view_chunks"):
            pages = Paginator(Chunk.objects.filter(document=row).order_by("ordinal"), CHUNKS_PER_PAGE)
            chunks = pages.get_page(request.GET.get("page"))
        return self.page(request, "document.html", title=row.title or row.source, row=row, chunks=chunks)

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
            messages.success(request, f"'{row.source}' was deleted with {removed} chunks.")
            url = reverse("admin:collections_document_changelist")
            return redirect(f"{url}?collection__id__exact={row.collection_id}")
        return self.page(request, "document_delete.html", title="Delete document", row=row)


@admin.register(Chunk)
class ChunkAdmin(ServiceAdmin):
    list_display = ("excerpt", "origin", "section", "page_number", "place")
    list_display_links = ("excerpt",)
    list_filter = (("collection", RelatedDropdownFilter),)
    list_filter_submit = True
    list_select_related = ("collection", "document")
    paginator = CappedPaginator
    sortable_by = ()
    empty_title = "No chunks"
    empty_text = "Chunks are the passages that searches return. Upload files to a collection to get some."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        rows = super().get_queryset(request)
        if self._is_list(request):
            beginning = Replace(Left(F("text"), EXCERPT_LENGTH), Value("\n"), Value(" "))
            rows = rows.defer("text", "metadata").annotate(beginning=beginning)
        return rows

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Each order is one that an index has, so that the first page of any list is cheap.
        return ("ordinal",) if request.GET.get("document__id__exact") else ("-id",)

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not request.GET.get("document__id__exact"):
            return []
        url = reverse("admin:collections_chunk_changelist")
        return [Action(label="Chunks of all documents", url=url, icon="filter_list_off", primary=False)]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="Text")
    def excerpt(self, row: Any) -> SafeString:
        cut = "…" if len(row.beginning) == EXCERPT_LENGTH else ""
        return format_html('<span class="rs-excerpt">{}{}</span>', row.beginning.strip(), cut)

    @admin.display(description="Document")
    def origin(self, row: Chunk) -> SafeString:
        source = row.document.source if row.document else "stored directly"
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', source)

    @admin.display
    def section(self, row: Chunk) -> SafeString:
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', sections(row.section_path))

    @admin.display(description="Page")
    def page_number(self, row: Chunk) -> int | None:
        return row.page

    @admin.display(description="No.")
    def place(self, row: Chunk) -> int | None:
        return None if row.ordinal is None else row.ordinal + 1

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One chunk as it is stored."""
        require(request, "view_chunks")
        row = self.found(request, object_id)
        title = row.external_id if row.document is None else f"{row.document.source}, no. {(row.ordinal or 0) + 1}"
        return self.page(request, "chunk.html", title=title, row=row, neighbours=neighbours(chunk=row))

    def _is_list(self, request: HttpRequest) -> bool:
        match = request.resolver_match
        return match is not None and match.url_name == "collections_chunk_changelist"


def document_label(row: Document) -> SafeString:
    """A document's state as a coloured word."""
    if row.state == Document.State.FAILED:
        return label("Failed", "danger")
    return label("Update failed", "warning") if row.error else label("Ready", "success")
