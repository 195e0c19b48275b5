"""The admin class under all pages: lists by django-unfold, everything else by pages that call services."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from django.contrib.admin import ModelAdmin, ShowFacets, display
from django.contrib.admin.utils import quote
from django.contrib.auth import get_permission_codename
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from access_app.patterns import is_everything, named
from access_app.reach import names_of, patterns_of
from collections_app.models import Collection
from console_app.audit_pages import history_page
from console_app.permissions import abilities, note_found, require
from console_app.strict_lists import StrictChangeList
from core_app.names import visible

if TYPE_CHECKING:
    UnfoldModelAdmin = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as UnfoldModelAdmin


class Action(TypedDict):
    """A button above a list."""

    label: str
    url: str
    icon: str
    primary: bool


def _named(field: str, label: Any) -> Callable[[Model], str]:
    """A column of a list that shows this field."""

    @display(description=label, ordering=field)
    def column(row: Model) -> str:
        value = getattr(row, field)
        return visible(str(value)) if value else "-"

    column.__name__ = field
    return column


#: Columns of names, instead of the fields themselves.
NAMES: dict[Any, Any] = {
    "name": _named("name", gettext_lazy("Name")),
    "collection": _named("collection", gettext_lazy("Collection")),
}


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """Counts no further than `CAP` rows, so that a page of a huge table costs as little as one of a small."""

    CAP = 10_000

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return rows.order_by().values("pk")[: self.CAP].count()

    @property
    def is_capped(self) -> bool:
        """Whether there may be more rows than were counted."""
        return self.count >= self.CAP


class FramedAdmin(UnfoldModelAdmin):
    """What all classes share: pages of our own inside the admin's frame, the history of a row among them."""

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What was changed of a row, newest first."""
        require(request, "view_audit")
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.found(request, object_id)
        if self.subject(row) is None and not is_everything(patterns_of(request.user, "access.view_auditentry")):
            # Of no collection, so for those who see the log of all of them.
            raise PermissionDenied
        shown = history_page(row, before=request.GET.get("before"))
        title = _("History of %(name)s") % {"name": row}
        return self.page(request, "history.html", title=title, row=row, history_url=None, **shown)

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """The row of this key. Raises Http404 where there is none that the user reaches.

        Raises PermissionDenied where the user may not do on it what the request has required.
        """
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        subject = self.subject(row)
        if subject is not None:
            note_found(request, subject)
        return row

    def subject(self, row: Model | None) -> Any:
        """What tells which collections a row is about; None where it is about none, as a user is."""
        return None if row is None or names_of(row) is None else row

    def page(
        self,
        request: HttpRequest,
        template: str,
        *,
        title: str,
        row: Model | None = None,
        **context: Any,
    ) -> TemplateResponse:
        """A page of ours inside the admin's frame, about `row` where it is about one."""
        request.current_app = self.admin_site.name
        may = abilities(request.user, self.subject(row))
        frame = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "crumb": title,
            "subtitle": None,
            "original": row,
            "may": may,
            "history_url": self._history_url(row) if may["view_audit"] else None,
        }
        return TemplateResponse(request, f"console/{template}", {**frame, **context})

    def _history_url(self, row: Model | None) -> str | None:
        if row is None:
            return None
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_history"
        return reverse(name, args=[quote(row.pk)])


class ServiceAdmin(FramedAdmin):
    """Rows are listed here and written by services alone, because their rules live above the models.

    Nothing can be saved through the admin's own forms: whatever may be changed has a page of its own.
    """

    actions = None
    change_list_template = "console/change_list.html"
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # a count over the whole table for each choice of a filter
    show_add_link = False
    #: What an empty list says.
    empty_title = gettext_noop("Nothing here yet")
    empty_text = ""
    #: How Django's lookups lead from a row to its collection, such as `document__collection`; empty where rows are
    #: about the whole server.
    belongs_to = "collection"

    def __init__(self, model: type[Model], admin_site: Any) -> None:
        super().__init__(model, admin_site)
        first = self.belongs_to.partition("__")[0]
        if (
            self.belongs_to
            and model is not Collection
            and first not in {field.name for field in self.opts.get_fields()}
        ):
            raise ImproperlyConfigured(f"{type(self).__name__}.belongs_to: say how its rows lead to their collection.")

    @property
    def view_permission(self) -> str:
        """What it takes to see a row, on the row's collection."""
        return f"{self.opts.app_label}.{get_permission_codename('view', self.opts)}"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Seeing takes the permission to view, here as on the pages; the one to change does not imply it."""
        return request.user.has_perm(self.view_permission, self.subject(obj))

    def subject(self, row: Model | None) -> Any:
        """The row, or what `belongs_to` leads to from it."""
        if row is None or names_of(row) is not None or not isinstance(row, self.model):
            return super().subject(row)
        found: Any = row
        for step in self.belongs_to.split("__"):
            found = getattr(found, step)
        return found

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows that the user reaches; for lists and, by `found`, for every page about a row."""
        return self.within_reach(super().get_queryset(request), patterns_of(request.user, self.view_permission))

    def within_reach(self, rows: QuerySet[Any], patterns: frozenset[str]) -> QuerySet[Any]:
        """Those of the rows whose collection fits a pattern.

        The collections are looked up first: Postgres knows how many rows each key has, and so whether to walk the table
        newest first or to take those of few collections. Of a join on their names it can only guess.
        """
        if is_everything(patterns):
            return rows
        reached = Collection.objects.filter(named("name", sorted(patterns))).order_by()
        keys = list(reached.values_list("pk", flat=True))
        return rows.filter(**{"pk__in" if self.model is Collection else f"{self.belongs_to}__in": keys})

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Names with marks for what is invisible in them."""
        return [NAMES.get(column, column) for column in super().get_list_display(request)]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> list[Any]:
        return [NAMES.get(column, column) for column in super().get_list_display_links(request, list_display) or ()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[StrictChangeList]:
        return StrictChangeList

    def list_actions(self, request: HttpRequest) -> list[Action]:
        """Buttons above the list, for whoever may use them."""
        return []

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"list_actions": self.list_actions(request), "title": self.opts.verbose_name_plural}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        raise PermissionDenied

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        raise PermissionDenied
