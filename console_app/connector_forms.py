"""What staff fill in about connectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from console_app.forms import MetadataField, choose
from ingest_app.connectors import NewConnector
from ingest_app.models import Connector

_HOUR = 3600
#: In seconds; the API takes any number.
_SCHEDULES = {
    900: "Every 15 minutes",
    _HOUR: "Every hour",
    6 * _HOUR: "Every 6 hours",
    24 * _HOUR: "Every day",
    7 * 24 * _HOUR: "Every week",
}
_ONLY_WHEN_ASKED = "Only when asked"
_URLS = "One address a line. Each becomes one document; the links of a page are not followed."


def schedule_in_words(every_seconds: int | None) -> str:
    """How often a connector runs, for people."""
    if every_seconds is None:
        return _ONLY_WHEN_ASKED
    minutes, seconds = divmod(every_seconds, 60)
    other = (
        f"Every {every_seconds:,} seconds"
        if seconds
        else f"Every {minutes:,} minutes"
        if minutes > 1
        else "Every minute"
    )
    return _SCHEDULES.get(every_seconds, other)


class _Settings(forms.Form):
    """What can be set at any time."""

    every_seconds = forms.TypedChoiceField(
        label="Runs",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[("", _ONLY_WHEN_ASKED), *_SCHEDULES.items()],
        widget=UnfoldAdminSelectWidget(),
    )
    remove_vanished = forms.BooleanField(
        required=False,
        label="Remove documents whose file is gone",
        widget=UnfoldBooleanSwitchWidget(),
    )
    metadata = MetadataField(help_text="Optional: a JSON object that every passage carries, to filter by.")


class ConnectorForm(_Settings):
    """A new connector."""

    collection = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    kind = forms.ChoiceField(choices=Connector.Kind.choices, widget=UnfoldAdminSelectWidget())
    location = forms.CharField(
        required=False,
        max_length=4096,
        label="Folder or repository",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="The folder's path on the server, or the repository's address: https://example.org/team/guide.git. "
        "Leave it empty for a list of addresses.",
    )
    branch = forms.CharField(
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Of a repository; leave it empty for its own default.",
    )
    urls = forms.CharField(
        required=False,
        label="Addresses",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5, "spellcheck": "false"}),
        help_text=_URLS,
    )
    name_prefix = forms.CharField(
        required=False,
        max_length=200,
        label="Prefix",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Put before the names of the files. Empty means a repository's name, and nothing for the others.",
    )

    def __init__(self, *args: Any, collections: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "collection", collections)

    def wanted(self) -> NewConnector:
        """What was filled in."""
        given = self.cleaned_data
        return NewConnector(
            kind=given["kind"],
            location=given["location"],
            branch=given["branch"],
            urls=given["urls"].splitlines(),
            prefix=given["name_prefix"] or None,
            metadata=given["metadata"],
            remove_vanished=given["remove_vanished"],
            every_seconds=given["every_seconds"],
        )


class ConnectorChangesForm(_Settings):
    """What of a connector can be changed."""

    urls = forms.CharField(
        label="Addresses",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=_URLS,
    )

    def __init__(self, data: Any, *, connector: Connector) -> None:
        initial = {
            "every_seconds": connector.every_seconds,
            "remove_vanished": connector.remove_vanished,
            "metadata": connector.metadata,
            "urls": "\n".join(connector.urls),
        }
        super().__init__(data, initial=initial)
        if connector.kind != Connector.Kind.URLS:
            del self.fields["urls"]
        every = connector.every_seconds
        if every is not None and every not in _SCHEDULES:
            # Set over the API: saving something else must not change it.
            own = (every, schedule_in_words(every))
            choose(
                self, "every_seconds", [("", _ONLY_WHEN_ASKED), own, *((key, text) for key, text in _SCHEDULES.items())]
            )

    def values(self) -> dict[str, Any]:
        """What was filled in, as the service takes it."""
        given = dict(self.cleaned_data)
        if "urls" in given:
            given["urls"] = given["urls"].splitlines()
        return given
