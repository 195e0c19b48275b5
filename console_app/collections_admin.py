"""Collections: listed, made, described, emptied, dropped, and tried with a query."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from collections_app.models import Collection
from collections_app.selectors import get_summary
from collections_app.services import create_collection, delete_collection, update_metadata
from console_app.chunking import show_chunking, take_chunking
from console_app.failures import EXPECTED, sentence
from console_app.forms import CollectionForm, CollectionMetadataForm, LanguageForm, TypedNameForm
from console_app.pages import Action, ServiceAdmin
from console_app.permissions import may, require
from console_app.progress import progress_of
from console_app.query import QueryPage, run_query
from console_app.reranking import RerankPage, run_bench
from console_app.selectors import recent_jobs, with_totals
from console_app.templatetags.console import ago
from ingest_app.models import Job
from ingest_app.rechunking import chunking_of
from ingest_app.rewording import LanguageState, language_state, set_language
from ingest_app.services import empty_collection, preview_emptying

JOBS_SHOWN = 5
#: A person is shown the page of the job, where it has not ended by then.
PATIENCE_SECONDS = 1.5


@admin.register(Collection)
class CollectionAdmin(ServiceAdmin):
    list_display = ("name", "documents", "chunks", "embedding", "changed")
    list_display_links = ("name",)
    search_fields = ("name",)
    search_help_text = "Search by name"
    ordering = ("name",)
    empty_title = "No collections yet"
    empty_text = "A collection holds documents that are searched together. Make one, then upload files to it."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        return with_totals(super().get_queryset(request).select_related("active_generation"))

    def get_urls(self) -> list[URLPattern]:
        query = path("query/", self.admin_site.admin_view(self.query_view), name="collections_collection_query")
        empty = path(
            "<int:collection_id>/empty/",
            self.admin_site.admin_view(self.empty_view),
            name="collections_collection_empty",
        )
        chunking = path(
            "<int:collection_id>/chunking/",
            self.admin_site.admin_view(self.chunking_view),
            name="collections_collection_chunking",
        )
        language = path(
            "<int:collection_id>/language/",
            self.admin_site.admin_view(self.language_view),
            name="collections_collection_language",
        )
        rerank = path("rerank/", self.admin_site.admin_view(self.rerank_view), name="collections_collection_rerank")
        return [query, rerank, empty, chunking, language, *super().get_urls()]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "create_collections"):
            return []
        url = reverse("admin:collections_collection_add")
        return [Action(label="New collection", url=url, icon="add", primary=True)]

    @admin.display(ordering="document_total")
    def documents(self, row: Any) -> SafeString:
        failed = f" + {row.failed_total:,} failed" if row.failed_total else ""
        return format_html('<span class="rs-number">{}</span>', f"{row.document_total:,}{failed}")

    @admin.display(ordering="chunk_total")
    def chunks(self, row: Any) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', f"{row.chunk_total:,}")

    @admin.display(description="Embedding model")
    def embedding(self, row: Collection) -> str:
        return str(row.active_generation) if row.active_generation else "set by the first document"

    @admin.display(description="Last change", ordering="changed_at")
    def changed(self, row: Any) -> str:
        return ago(row.changed_at)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a collection."""
        require(request, "create_collections")
        form = CollectionForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                made = create_collection(**form.cleaned_data)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                messages.success(request, f"Collection '{made.name}' is ready for files.")
                return self._after(request, made)
        return self.page(request, "collection_add.html", title="New collection", form=form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One collection: numbers, settings, recent jobs, metadata that can be edited."""
        require(request, "view_collections")
        row = self.found(request, object_id)
        editing = request.method == "POST"
        if editing:
            require(request, "change_collections")
        form = CollectionMetadataForm(request.POST if editing else None, initial={"metadata": row.metadata})
        if editing and form.is_valid():
            try:
                update_metadata(name=row.name, metadata=form.cleaned_data["metadata"])
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                messages.success(request, "The metadata was saved.")
                return redirect(request.path)
        jobs = recent_jobs(limit=JOBS_SHOWN, collection=row) if may(request.user, "view_jobs") else []
        return self.page(
            request,
            "collection.html",
            title=row.name,
            row=row,
            form=form,
            summary=get_summary(name=row.name),
            chunking=chunking_of(row),
            jobs=[progress_of(job) for job in jobs],
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Drop a collection, once its name was typed."""
        require(request, "delete_collections")
        row = self.found(request, object_id)
        form = TypedNameForm(request.POST or None, expected=row.name)
        if request.method == "POST" and form.is_valid():
            try:
                delete_collection(name=row.name)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                messages.success(request, f"Collection '{row.name}' was deleted with everything in it.")
                return redirect("admin:collections_collection_changelist")
        return self.page(request, "collection_delete.html", title="Delete collection", row=row, form=form)

    def empty_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """Delete everything in a collection, once its name was typed; it first says what would go."""
        require(request, "empty_collections")
        row = self.found(request, str(collection_id))
        form = TypedNameForm(request.POST or None, expected=row.name)
        if request.method == "POST" and form.is_valid():
            try:
                emptied = empty_collection(name=row.name, seconds=PATIENCE_SECONDS)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self._after_emptying(request, row, emptied.job, emptied.count_deleted)
        found = preview_emptying(name=row.name)
        return self.page(request, "collection_empty.html", title="Empty collection", row=row, form=form, found=found)

    def chunking_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """How texts are cut: seen, tried on a text, changed."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        if request.method == "POST":
            require(request, "change_collections")
            if request.POST.get("source"):
                require(request, "view_chunks")
        page = take_chunking(row, request.POST) if request.method == "POST" else show_chunking(row)
        if page.is_saved:
            messages.success(request, "Texts are cut like this from now on.")
            if page.state.job is not None and may(request.user, "view_jobs"):
                return redirect("admin:ingest_job_change", page.state.job.pk)
            return redirect(request.path)
        return self.page(request, "chunking.html", title=f"How texts of {row.name} are cut", found=page, form=page.form)

    def language_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """The language of the words: seen, changed."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        state = language_state(name=row.name)
        sending = request.method == "POST"
        if sending:
            require(request, "change_collections")
        form = LanguageForm(
            request.POST if sending else None, known=state.known, initial={"language": state.wanted or state.language}
        )
        if sending and form.is_valid():
            try:
                state = set_language(name=row.name, language=form.cleaned_data["language"])
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self._after_language(request, row, state)
        return self.page(
            request, "language.html", title=f"Language of the words of {row.name}", row=row, form=form, state=state
        )

    def _after_language(self, request: HttpRequest, row: Collection, state: LanguageState) -> HttpResponse:
        if state.job is None:
            messages.success(request, f"The language of the words: {state.language}.")
        else:
            messages.success(request, f"The words are being indexed in {state.wanted}.")
            if may(request.user, "view_jobs"):
                return redirect("admin:ingest_job_change", state.job.pk)
        return redirect("admin:collections_collection_change", row.pk)

    def _after_emptying(
        self, request: HttpRequest, row: Collection, job: Job | None, count: int | None
    ) -> HttpResponse:
        if job is None:
            messages.success(request, f"Collection '{row.name}' is empty. Chunks deleted: {count:,}.")
        elif may(request.user, "view_jobs"):
            return redirect("admin:ingest_job_change", job.pk)
        else:
            messages.success(request, f"Collection '{row.name}' is being emptied.")
        return redirect("admin:collections_collection_change", row.pk)

    def rerank_view(self, request: HttpRequest) -> HttpResponse:
        """What the loaded cross-encoder makes of two texts."""
        require(request, "query")
        found: RerankPage = run_bench(request.POST if request.method == "POST" else None)
        return self.page(request, "rerank.html", title="Compare two texts", found=found)

    def query_view(self, request: HttpRequest) -> HttpResponse:
        """The playground. A GET: looking for something changes nothing and can be bookmarked."""
        require(request, "query")
        found: QueryPage = run_query(request.GET, asked_by=request.user.get_username())
        return self.page(request, "query.html", title="Try a query", found=found)

    def _after(self, request: HttpRequest, row: Collection) -> HttpResponse:
        if may(request.user, "view_collections"):
            return redirect("admin:collections_collection_change", row.pk)
        return redirect("admin:index")
