"""The admin class under all pages: lists by django-unfold, everything else by pages that call services."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from django.contrib.admin import ModelAdmin, ShowFacets
from django.contrib.auth import get_permission_codename
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from console_app.permissions import abilities

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


class ServiceAdmin(UnfoldModelAdmin):
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
    empty_title = "Nothing here yet"
    empty_text = ""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Seeing takes the permission to view, here as on the pages; the one to change does not imply it."""
        codename = get_permission_codename("view", self.opts)
        return request.user.has_perm(f"{self.opts.app_label}.{codename}")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

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

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """The row of this key. Raises Http404 where there is none."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row

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
        frame = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "crumb": title,
            "subtitle": None,
            "original": row,
            "may": abilities(request.user),
        }
        return TemplateResponse(request, f"console/{template}", {**frame, **context})
