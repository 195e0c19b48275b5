"""Collections: listed, made, described, emptied, dropped, and tried with a query."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from collections_app.describing import description_of
from collections_app.models import Collection
from collections_app.services import create_collection, delete_collection
from console_app.chunking import show_chunking, take_chunking
from console_app.collection_forms import MetadataEditorForm
from console_app.collection_pages import preview_metadata, save_metadata, settings_page
from console_app.coverage import gaps
from console_app.embedding_admin import EmbeddingPages
from console_app.exchange_admin import ExchangePages, is_name_reached
from console_app.failures import EXPECTED, sentence
from console_app.filters_admin import FilterPages
from console_app.forms import CollectionForm, LanguageForm, TypedNameForm
from console_app.home_parts import home_urls
from console_app.pages import Action
from console_app.permissions import may, require
from console_app.placement_admin import PlacementPages
from console_app.progress import progress_of
from console_app.query import QueryPage, asker_of, run_query
from console_app.reached import names_for
from console_app.reranking import RerankPage, run_bench
from console_app.seen import FIELD, mark
from console_app.selectors import recent_jobs, summary_of, totals_of, with_totals
from console_app.templatetags.console import ago, thousands
from core_app.wiring import store
from ingest_app.models import Job
from ingest_app.rechunking import chunking_of
from ingest_app.rewording import LanguageState, language_state, set_language
from ingest_app.services import empty_collection, preview_emptying
from search_app.capabilities import capabilities
from stores_app.whereabouts import whereabouts

JOBS_SHOWN = 5
#: A person is shown the page of the job, where it has not ended by then.
PATIENCE_SECONDS = 1.5


@admin.register(Collection)
class CollectionAdmin(EmbeddingPages, ExchangePages, FilterPages, PlacementPages):
    list_display = ("name", "documents", "chunks", "embedding", "changed")
    list_display_links = ("name",)
    search_fields = ("name",)
    search_help_text = gettext_lazy("Search by name")
    ordering = ("name",)
    empty_title = gettext_noop("No collections yet")
    empty_text = gettext_noop(
        "A collection holds documents that are searched together. Make one, then upload files to it."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        rows = super().get_queryset(request).select_related("active_generation")
        # Counting takes long where a collection is large; the pages about one count where they show it.
        match = request.resolver_match
        is_list = match is not None and match.url_name == "collections_collection_changelist"
        return with_totals(rows) if is_list else rows

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
        coverage = path(
            "<int:collection_id>/coverage/",
            self.admin_site.admin_view(self.coverage_view),
            name="collections_collection_coverage",
        )
        parts = [
            path(
                f"<int:collection_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"collections_collection_{name}",
            )
            for name, view in (
                ("metadata", self.metadata_view),
                ("settings", self.settings_view),
            )
        ]
        own = [query, rerank, empty, chunking, language, coverage, *parts, *home_urls(self.admin_site)]
        return [*own, *super().get_urls()]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        found = []
        if may(request.user, "import_collections"):
            there = reverse("admin:collections_collection_import")
            found.append(Action(label=_("Import"), url=there, icon="upload", primary=False))
        if may(request.user, "create_collections"):
            url = reverse("admin:collections_collection_add")
            found.append(Action(label=_("New collection"), url=url, icon="add", primary=True))
        return found

    @admin.display(description=gettext_lazy("Documents"), ordering="document_total")
    def documents(self, row: Any) -> SafeString:
        said = thousands(row.document_total)
        if row.failed_total:
            said = _("%(count)s + %(failed)s failed") % {"count": said, "failed": thousands(row.failed_total)}
        return format_html('<span class="rs-number">{}</span>', said)

    @admin.display(description=gettext_lazy("Chunks"), ordering="chunk_total")
    def chunks(self, row: Any) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', thousands(row.chunk_total))

    @admin.display(description=gettext_lazy("Embedding model"))
    def embedding(self, row: Collection) -> str:
        return str(row.active_generation) if row.active_generation else _("set by the first document")

    @admin.display(description=gettext_lazy("Last change"), ordering="changed_at")
    def changed(self, row: Any) -> str:
        return ago(row.changed_at)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a collection."""
        require(request, "create_collections")
        form = CollectionForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and is_name_reached(request, form):
            try:
                made = create_collection(**form.cleaned_data)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                messages.success(request, _("Collection '%(name)s' is ready for files.") % {"name": made.name})
                return self._after(request, made)
        return self.page(request, "collection_add.html", title=_("New collection"), form=form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One collection: numbers, settings, recent jobs, metadata that can be edited."""
        require(request, "view_collections")
        row = self.found(request, object_id)
        editing = request.method == "POST"
        if editing:
            require(request, "change_collections")
        form = MetadataEditorForm(request.POST if editing else None, initial={"metadata": row.metadata})
        if editing and save_metadata(row, form, request.POST):
            messages.success(request, _("The metadata was saved."))
            return redirect(request.path)
        counted = totals_of(row)
        jobs = recent_jobs(limit=JOBS_SHOWN, collection=row) if may(request.user, "view_jobs", row) else []
        return self.page(
            request,
            "collection.html",
            title=row.name,
            row=row,
            counted=counted,
            form=form,
            summary=summary_of(counted),
            placed=whereabouts(name=row.name).searched,
            chunking=chunking_of(row),
            can=capabilities(row),
            dimension=row.active_generation.dimension if row.active_generation else None,
            description=description_of(row),
            seen=request.POST.get(FIELD) or mark(row.metadata),
            jobs=[progress_of(job) for job in jobs],
        )

    def metadata_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """What saving the metadata that is being written would do."""
        require(request, "change_collections")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.found(request, str(collection_id))
        return render(request, "console/_metadata_changes.html", preview_metadata(request, row))

    def settings_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """How a collection is called, described and searched."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        if request.method == "POST":
            require(request, "change_collections")
        found = settings_page(
            row,
            request.POST if request.method == "POST" else None,
            may_be_called=lambda name: may(request.user, "change_collections", name),
        )
        if found.is_saved:
            messages.success(request, _("The settings were saved."))
            return redirect("admin:collections_collection_change", row.pk)
        return self.page(
            request,
            "collection_settings.html",
            title=_("Settings of %(name)s") % {"name": row.name},
            row=row,
            found=found,
            form=found.form,
        )

    def coverage_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """What is missing in a collection: the rows behind the numbers of the home page."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
        return self.page(
            request,
            "coverage.html",
            title=_("What is missing in %(name)s") % {"name": row.name},
            row=row,
            **gaps(request, row),
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
                messages.success(
                    request, _("Collection '%(name)s' was deleted with everything in it.") % {"name": row.name}
                )
                return redirect("admin:collections_collection_changelist")
        title = _("Delete collection")
        holder = store(row.store).held_by(collection_id=row.pk)
        found = {"counted": totals_of(row), "held_by": holder}
        return self.page(request, "collection_delete.html", title=title, row=row, form=form, **found)

    def empty_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """Delete everything in a collection, once its name was typed; it first says what would go."""
        require(request, "empty_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
        form = TypedNameForm(request.POST or None, expected=row.name)
        if request.method == "POST" and form.is_valid():
            try:
                emptied = empty_collection(name=row.name, seconds=PATIENCE_SECONDS)
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self._after_emptying(request, row, emptied.job, emptied.count_deleted)
        found = preview_emptying(name=row.name)
        return self.page(request, "collection_empty.html", title=_("Empty collection"), row=row, form=form, found=found)

    def chunking_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """How texts are cut: seen, tried on a text, changed."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
        if request.method == "POST":
            require(request, "change_collections")
            if request.POST.get("source"):
                require(request, "view_chunks")
        page = take_chunking(row, request.POST) if request.method == "POST" else show_chunking(row)
        if page.is_saved:
            messages.success(request, _("Texts are cut like this from now on."))
            if page.state.job is not None and may(request.user, "view_jobs", row):
                return redirect("admin:ingest_job_change", page.state.job.pk)
            return redirect(request.path)
        return self.page(
            request,
            "chunking.html",
            title=_("How texts of %(name)s are cut") % {"name": row.name},
            found=page,
            form=page.form,
        )

    def language_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """The language of the words: seen, changed."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        held = self.held_elsewhere(request, row)
        if held is not None:
            return held
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
            request,
            "language.html",
            title=_("Language of the words of %(name)s") % {"name": row.name},
            row=row,
            form=form,
            state=state,
        )

    def _after_language(self, request: HttpRequest, row: Collection, state: LanguageState) -> HttpResponse:
        if state.job is None:
            messages.success(request, _("The language of the words: %(language)s.") % {"language": state.language})
        else:
            messages.success(request, _("The words are being indexed in %(language)s.") % {"language": state.wanted})
            if may(request.user, "view_jobs", row):
                return redirect("admin:ingest_job_change", state.job.pk)
        return redirect("admin:collections_collection_change", row.pk)

    def _after_emptying(
        self, request: HttpRequest, row: Collection, job: Job | None, count: int | None
    ) -> HttpResponse:
        if job is None:
            messages.success(
                request,
                _("Collection '%(name)s' is empty. Chunks deleted: %(count)s.")
                % {"name": row.name, "count": thousands(count)},
            )
        elif may(request.user, "view_jobs", row):
            return redirect("admin:ingest_job_change", job.pk)
        else:
            messages.success(request, _("Collection '%(name)s' is being emptied.") % {"name": row.name})
        return redirect("admin:collections_collection_change", row.pk)

    def rerank_view(self, request: HttpRequest) -> HttpResponse:
        """What the loaded cross-encoder makes of two texts."""
        require(request, "query")
        found: RerankPage = run_bench(request.POST if request.method == "POST" else None)
        return self.page(request, "rerank.html", title=_("Compare two texts"), found=found)

    def query_view(self, request: HttpRequest) -> HttpResponse:
        """The playground. A GET: looking for something changes nothing and can be bookmarked."""
        require(request, "query")
        names = names_for(request.user, "query")
        found: QueryPage = run_query(request.GET, names=names, asker=asker_of(request))
        return self.page(request, "query.html", title=_("Try a query"), found=found)

    def _after(self, request: HttpRequest, row: Collection) -> HttpResponse:
        if may(request.user, "view_collections", row):
            return redirect("admin:collections_collection_change", row.pk)
        return redirect("admin:index")
