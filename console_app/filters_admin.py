"""The pages of a collection's filters, and what the builder on any page asks for."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from collections_app.filters import delete_filter, rename_filter, save_filter
from collections_app.models import Collection, NamedFilter
from console_app.audit_pages import history_page
from console_app.failures import EXPECTED, sentence
from console_app.filtering import builder_data, fields_shown, kept_filters, previewed, suggested
from console_app.forms import NamedFilterForm
from console_app.pages import ServiceAdmin
from console_app.permissions import note_found, require
from console_app.seen import FIELD, mark, while_as_seen
from core_app.where.parsing import decode_where


class FilterPages(ServiceAdmin):
    """Of collections: their filters, and the answers to the builder's questions."""

    def get_urls(self) -> list[URLPattern]:
        view, name = self.admin_site.admin_view, "collections_collection_filter"
        return [
            path("<int:collection_id>/filters/", view(self.filters_view), name=f"{name}s"),
            path(
                "<int:collection_id>/filters/<int:filter_id>/history/",
                view(self.filter_history_view),
                name=f"{name}_history",
            ),
            path("<int:collection_id>/fields/", view(self.fields_view), name="collections_collection_fields"),
            path("filters/fields/", view(self.filter_fields_view), name=f"{name}_fields"),
            path("filters/values/", view(self.filter_values_view), name=f"{name}_values"),
            path("filters/preview/", view(self.filter_preview_view), name=f"{name}_preview"),
            *super().get_urls(),
        ]

    def _reached(self, request: HttpRequest, **by: object) -> Collection:
        """The collection, if it is one that this user's list has. Its totals are not counted for that."""
        if any("\x00" in str(value) for value in by.values()):
            raise Http404
        found = self.get_queryset(request).filter(**by).order_by().values_list("pk", flat=True).first()
        if found is None:
            raise Http404
        row = Collection.objects.get(pk=found)
        note_found(request, row)
        return row

    def filters_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """The filters that a collection keeps: listed, built, changed, forgotten."""
        require(request, "view_filters")
        row = self._reached(request, pk=collection_id)
        kept = kept_filters(row.name)
        chosen = next((one for one in kept if one.row.name == request.GET.get("name")), None)
        initial: dict[str, str] = {"where": request.GET.get("where", "")}
        if chosen is not None:
            initial = {"name": chosen.row.name, "description": chosen.row.description, "where": chosen.text}
        form = NamedFilterForm(initial=initial)
        if request.method == "POST":
            require(request, "change_filters")  # on the collection that was found
            form = NamedFilterForm(request.POST)
            done = self._forget(request, row) if "forget" in request.POST else self._keep(request, row, form)
            if done is not None:
                return done
        return self.page(
            request,
            "filters.html",
            title=_("Filters of %(name)s") % {"name": row.name},
            row=row,
            form=form,
            kept=kept,
            chosen=chosen,
            seen=request.POST.get(FIELD) or (mark([[chosen.row.where, chosen.row.description]]) if chosen else ""),
        )

    def _keep(self, request: HttpRequest, row: Collection, form: NamedFilterForm) -> HttpResponse | None:
        """Save what was sent, under a new name where that was changed; None where it was refused."""
        before = request.POST.get("before", "")
        if not form.is_valid():
            return None
        given = form.cleaned_data
        try:
            where = decode_where(given["where"])
            if not before and any(one.row.name == given["name"] for one in kept_filters(row.name)):
                form.add_error("name", _("There is a filter of this name already. Open it, or choose another name."))
                return None
            with while_as_seen(request.POST if before else {}, lambda: _now(row, before)):
                if before and before != given["name"]:
                    rename_filter(collection_name=row.name, name=before, new_name=given["name"])
                save_filter(collection_name=row.name, name=given["name"], where=where, description=given["description"])
        except EXPECTED as error:
            form.add_error(None, sentence(error))
            return None
        messages.success(request, _("Filter '%(name)s' was saved.") % {"name": given["name"]})
        return redirect(f"{request.path}?{urlencode({'name': given['name']})}")

    def _forget(self, request: HttpRequest, row: Collection) -> HttpResponse:
        name = request.POST["forget"]
        try:
            delete_filter(collection_name=row.name, name=name)
        except EXPECTED as error:
            messages.error(request, sentence(error))
        else:
            messages.success(request, _("Filter '%(name)s' was deleted.") % {"name": name})
        return redirect(reverse("admin:collections_collection_filters", args=[row.pk]))

    def filter_history_view(self, request: HttpRequest, collection_id: int, filter_id: int) -> HttpResponse:
        """What was changed of one of them, newest first."""
        require(request, "view_audit")
        require(request, "view_filters")
        row = self._reached(request, pk=collection_id)
        kept = NamedFilter.objects.filter(collection=row, pk=filter_id).first()
        if kept is None:
            raise Http404
        title = _("History of %(name)s") % {"name": kept.name}
        shown = history_page(kept, before=request.GET.get("before"))
        return self.page(request, "filter_history.html", title=title, row=row, history_url=None, kept=kept, **shown)

    def fields_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """The part of a collection's page that says what stands in its chunks' metadata."""
        require(request, "view_filters")
        row = self._reached(request, pk=collection_id)
        return render(request, "console/_fields.html", fields_shown(row.name))

    def filter_fields_view(self, request: HttpRequest) -> HttpResponse:
        """What the builder lets choose from, for the collection `?collection=NAME`."""
        require(request, "view_filters")
        row = self._reached(request, name=request.GET.get("collection", ""))
        return JsonResponse(builder_data(row.name))

    def filter_values_view(self, request: HttpRequest) -> HttpResponse:
        """Values of `?field=` that hold what was `?typed=`."""
        require(request, "view_filters")
        row = self._reached(request, name=request.GET.get("collection", ""))
        key, typed = request.GET.get("field", ""), request.GET.get("typed", "")
        return JsonResponse(suggested(row.name, key=key, typed=typed))

    def filter_preview_view(self, request: HttpRequest) -> HttpResponse:
        """What the filter in `where` means and lets through. A POST, since filters are long; it changes nothing."""
        require(request, "view_filters")
        row = self._reached(request, name=request.POST.get("collection", ""))
        return JsonResponse(previewed(request, row.name, request.POST.get("where", "")))


def _now(row: Collection, name: str) -> Any:
    """What a kept filter says by now, locked; nothing where it is gone."""
    kept = NamedFilter.objects.select_for_update().filter(collection=row, name=name)
    return [[one.where, one.description] for one in kept]
