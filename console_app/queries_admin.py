"""The query log: looked at here, written by searches, forgotten by its own task."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.contrib.filters.admin import DropdownFilter  # type: ignore[import-untyped]

from access_app.patterns import is_everything, named
from collections_app.models import Collection
from console_app.pages import CappedPaginator, ServiceAdmin
from console_app.permissions import require
from console_app.reached import names_for
from console_app.templatetags.console import label
from core_app.names import readable, visible
from search_app.models import QueryLog

#: django-unfold's label variants.
STATUS_TONES: dict[str, str] = {
    QueryLog.Status.OK: "success",
    QueryLog.Status.DEGRADED: "warning",
    QueryLog.Status.FAILED: "danger",
}
#: Enough of a hash to tell questions apart.
HASH_SHOWN = 12


class CollectionFilter(DropdownFilter):  # type: ignore[misc]  # django-unfold has no types
    """Queries of a collection, by the name that it had: rows of the log have no foreign keys."""

    title = gettext_lazy("collection")
    parameter_name = "collection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = names_for(request.user, "view_queries")
        if self.value() and self.value() not in names:
            names.append(self.value())  # one that is gone
        return [(name, visible(name)) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
        return queryset.filter(collections__contains=[self.value()]) if self.value() else queryset


class FoundFilter(DropdownFilter):  # type: ignore[misc]
    """Queries that found nothing show what a collection lacks."""

    title = gettext_lazy("results")
    parameter_name = "found"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("nothing", _("Found nothing")), ("something", _("Found something"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
        match self.value():
            case "nothing":
                return queryset.filter(result_count=0)
            case "something":
                return queryset.filter(result_count__gt=0)
        return queryset


class StatusFilter(DropdownFilter):  # type: ignore[misc]
    """Queries that went wrong, wholly or in part."""

    title = gettext_lazy("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("wrong", _("Degraded or failed")), *((value, str(name)) for value, name in QueryLog.Status.choices)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
        if self.value() == "wrong":
            return queryset.exclude(status=QueryLog.Status.OK)
        return queryset.filter(status=self.value()) if self.value() in QueryLog.Status.values else queryset


class WarningsFilter(DropdownFilter):  # type: ignore[misc]
    """Queries that were answered with less than they asked for."""

    title = gettext_lazy("warnings")
    parameter_name = "warned"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _("With warnings")), ("no", _("Without warnings"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueryLog]) -> QuerySet[QueryLog]:
        match self.value():
            case "yes":
                return queryset.exclude(warnings=[])
            case "no":
                return queryset.filter(warnings=[])
        return queryset


@admin.register(QueryLog)
class QueryLogAdmin(ServiceAdmin):
    list_display = ("when", "query", "searched", "became", "hits", "warned", "took", "mode", "who")
    list_display_links = ("when",)
    list_filter = (CollectionFilter, StatusFilter, FoundFilter, WarningsFilter)
    list_filter_submit = True
    paginator = CappedPaginator
    #: Any other order would sort the whole table.
    sortable_by = ()
    empty_title = gettext_noop("No queries yet")
    belongs_to = "collections"
    empty_text = gettext_noop(
        "Searches are listed here unless Search:QueryLog is off, until Retention:QueryLogDays are over."
    )

    def within_reach(self, rows: QuerySet[Any], patterns: frozenset[str]) -> QuerySet[Any]:
        """Those of which every collection is there and reached: the text of the others may be about any of theirs.

        Both conditions, because the table's index serves the first, for names that few queries have.
        """
        if is_everything(patterns):
            return rows
        reached = Collection.objects.filter(named("name", sorted(patterns))).order_by()
        names = list(reached.values_list("name", flat=True))
        if not names:
            return rows.none()
        return rows.filter(collections__overlap=names, collections__contained_by=names)

    def get_queryset(self, request: HttpRequest) -> QuerySet[QueryLog]:
        rows = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and match.url_name == "search_querylog_changelist"
        return rows.defer("results", "stages_ms") if is_list else rows

    @admin.display(description=gettext_lazy("When (UTC)"))
    def when(self, row: QueryLog) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', f"{row.asked_at:%Y-%m-%d %H:%M:%S}")

    @admin.display(description=gettext_lazy("Query"))
    def query(self, row: QueryLog) -> SafeString:
        return text_of(row)

    @admin.display(description=gettext_lazy("Collections"))
    def searched(self, row: QueryLog) -> SafeString:
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', visible(", ".join(row.collections)))

    @admin.display(description=gettext_lazy("Status"))
    def became(self, row: QueryLog) -> SafeString:
        return label(row.get_status_display(), STATUS_TONES[row.status])

    @admin.display(description=gettext_lazy("Results"))
    def hits(self, row: QueryLog) -> SafeString:
        tone = "rs-number" if row.result_count else "rs-number rs-bad"
        return format_html('<span class="{}">{}</span>', tone, row.result_count)

    @admin.display(description=gettext_lazy("Warnings"))
    def warned(self, row: QueryLog) -> SafeString:
        return format_html(
            '<span class="rs-excerpt rs-excerpt--narrow">{}</span>',
            ", ".join([*([row.error] if row.error else []), *row.warnings]),
        )

    @admin.display(description=gettext_lazy("Took"))
    def took(self, row: QueryLog) -> SafeString:
        took = _("%(number)s ms") % {"number": f"{row.took_ms:,.0f}"}
        return format_html('<span class="rs-number">{}</span>', took)

    @admin.display(description=gettext_lazy("Who"))
    def who(self, row: QueryLog) -> SafeString:
        who = _("%(name)s, test") % {"name": row.asked_by} if row.is_test else row.asked_by
        return format_html('<span class="rs-excerpt rs-excerpt--narrow">{}</span>', visible(who))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One query with its results and times."""
        require(request, "view_queries")
        row = self.found(request, object_id)
        title = _("Query, %(at)s") % {"at": date_format(row.asked_at, "DATETIME_FORMAT")}
        return self.page(request, "query_logged.html", title=title, row=row)


def text_of(row: QueryLog) -> SafeString:
    """The text as the log has it; of a hash the beginning."""
    if row.text_form == QueryLog.TextForm.HASHED:
        return format_html('<code title="{}">{}…</code>', _("Hashed"), row.text[:HASH_SHOWN])
    return format_html('<span class="rs-excerpt">{}</span>', readable(row.text))
