"""Lists that show no rows where their address asks for what they do not know: all of them would pass for the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from core_app.names import visible

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList as UnfoldChangeList
else:
    from unfold.views import ChangeList as UnfoldChangeList

#: What an address says about the place within a list.
PLACE = frozenset({"before", "after"})
_SHOWN = 60


def _sentence(name: str) -> str:
    return _(
        "Nothing is listed: this list does not know '%(name)s', or not this value. Take it out of the address."
    ) % {"name": visible(name[:_SHOWN])}


def refuse_unknown(form: forms.Form, given: Mapping[str, Any]) -> None:
    """Have a form that was read from an address refuse parameters that it has no field for."""
    form.full_clean()
    for name, value in given.items():
        if value and name not in form.fields and name not in PLACE:
            form.add_error(None, _sentence(name))


class StrictChangeList(UnfoldChangeList):
    """Django's list; there an unknown parameter leads to all rows, and so does the value of a filter that is hidden."""

    unknown: str | None = None

    def get_filters(self, request: HttpRequest) -> Any:
        found = super().get_filters(request)
        known = dict(pair for spec in found[0] for pair in _choices(spec))
        for name, values in self.get_filters_params().items():
            if name not in known or not {"", *known[name]}.issuperset(values):
                self.unknown = name
        return found

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        try:
            rows = super().get_queryset(request, exclude_parameters)
        except (IncorrectLookupParameters, DisallowedModelAdminLookup):
            self.unknown = next(iter(self.get_filters_params()), "")
        if self.unknown is None:
            return rows
        messages.error(request, _sentence(self.unknown))
        self.filter_params: Any = {}
        return super().get_queryset(request, exclude_parameters).none()


def _choices(spec: Any) -> Iterator[tuple[str, set[str]]]:
    """What a filter of a list takes, by its parameter."""
    name = getattr(spec, "parameter_name", None) or spec.lookup_kwarg
    yield name, {str(value) for value, _label in spec.lookup_choices}
