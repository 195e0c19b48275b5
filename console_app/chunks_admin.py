"""Chunks: listed, looked at, edited, disabled and enabled."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from collections_app.disabling import set_disabled
from collections_app.models import Chunk
from console_app.chunk_editing import edit_page
from console_app.failures import EXPECTED, sentence
from console_app.listing import chunk_list
from console_app.pages import ServiceAdmin
from console_app.permissions import require
from console_app.selectors import neighbours
from core_app.keyset import key_from


@admin.register(Chunk)
class ChunkAdmin(ServiceAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        return super().get_queryset(request).select_related("document", "collection__active_generation")

    def get_urls(self) -> list[URLPattern]:
        edit = path("<int:chunk_id>/edit/", self.admin_site.admin_view(self.edit_view), name="collections_chunk_edit")
        disable = path(
            "<int:chunk_id>/disable/", self.admin_site.admin_view(self.disable_view), name="collections_chunk_disable"
        )
        return [edit, disable, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Chunks, newest first, or those of a document in its order."""
        require(request, "view_chunks")
        title = _("Chunks")
        return self.page(request, "chunks.html", title=title, opts=None, content_title=title, list=chunk_list(request))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One chunk as it is stored."""
        require(request, "view_chunks")
        row = self.found(request, object_id)
        return self.page(request, "chunk.html", title=_title(row), row=row, neighbours=neighbours(chunk=row))

    def edit_view(self, request: HttpRequest, chunk_id: int) -> HttpResponse:
        """Change a chunk's text and metadata, after a look at what would change."""
        require(request, "change_chunks")
        row = self._sent_for(request, chunk_id)
        page = edit_page(row, request.POST if request.method == "POST" else None)
        if page.saved is not None:
            messages.success(request, _("The passage was saved. Searches find it as it is now."))
            return redirect("admin:collections_chunk_change", page.saved.pk)
        row = page.stored or row
        return self.page(request, "chunk_edit.html", title=_title(row), row=row, page=page, form=page.form)

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """As for all rows; where there is none it says that an edit gives a passage another address."""
        try:
            return super().found(request, object_id)
        except Http404:
            raise Http404(
                _(
                    "This passage was deleted, or it was edited or cut anew and has another address now. Look for it "
                    "in its document or in the list of chunks."
                )
            ) from None

    def _sent_for(self, request: HttpRequest, chunk_id: int) -> Chunk:
        """The chunk that a form was made for: of this key or, where an edit has given it another, of the id sent.

        Raises Http404 and PermissionDenied as `found` does.
        """
        rows = self.get_queryset(request)
        collection, external_id = key_from(request.POST.get("collection")), request.POST.get("external_id", "")
        if collection is not None and "\x00" not in external_id and not rows.filter(pk=chunk_id).exists():
            now = rows.filter(collection_id=collection, external_id=external_id).first()
            chunk_id = chunk_id if now is None else now.pk
        found: Chunk = self.found(request, str(chunk_id))
        return found

    def disable_view(self, request: HttpRequest, chunk_id: int) -> HttpResponse:
        """Take a chunk out of all searches or, with `enable`, put it back."""
        require(request, "change_chunks")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self._sent_for(request, chunk_id)
        disabled = "enable" not in request.POST
        try:
            row = set_disabled(collection_name=row.collection.name, external_id=row.external_id, disabled=disabled)
        except EXPECTED as error:
            messages.error(request, sentence(error))
            return redirect("admin:collections_chunk_change", row.pk)
        said = _("No search finds this passage any more.") if disabled else _("Searches find this passage again.")
        messages.success(request, said)
        return redirect("admin:collections_chunk_change", row.pk)


def _title(row: Chunk) -> str:
    if row.document is None:
        return row.external_id
    return _("%(source)s, no. %(number)s") % {"source": row.document.source, "number": (row.ordinal or 0) + 1}
