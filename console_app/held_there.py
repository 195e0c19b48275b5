"""The collections that a connection leads to, to choose one of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from connections_app.models import Connection
from connections_app.opening import opened_store
from console_app.failures import EXPECTED, sentence
from console_app.forms import choose
from core_app.names import visible
from core_app.providers import HeldCollection

#: Of the collections there.
MOST_LISTED = 200


@dataclass(frozen=True, kw_only=True)
class There:
    """The first collections there, how many there are, and why that is not known."""

    collections: tuple[HeldCollection, ...] = ()
    total: int = 0
    problem: str = ""

    def count(self, name: str) -> int | None:
        """The chunks of a collection there; None where the other side does not say."""
        return next((one.count for one in self.collections if one.name == name), None)


def look_there(connection: Connection) -> There:
    """Ask the other side for its collections; a failure is told, not raised."""
    try:
        with opened_store(connection) as provider:
            found = provider.list_collections(limit=MOST_LISTED, offset=0)
    except EXPECTED as error:
        return There(problem=sentence(error))
    return There(collections=tuple(found.collections), total=found.total)


class ThereForm(forms.Form):
    """Which collection there, and what it is called here."""

    name_there = forms.ChoiceField(label=gettext_lazy("Collection there"), widget=UnfoldAdminSelectWidget())
    name = forms.CharField(
        label=gettext_lazy("Its name here"),
        max_length=512,
        strip=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    same_model = forms.BooleanField(
        required=False,
        label=gettext_lazy("The server's model made its vectors"),
        widget=UnfoldBooleanSwitchWidget(),
        help_text=gettext_lazy("Only then does a text find something. Otherwise it is found by vectors alone."),
    )

    def __init__(self, *args: Any, there: There, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "name_there", [(one.name, visible(one.name)) for one in there.collections])
