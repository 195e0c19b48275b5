"""What staff fill in about connectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from console_app.forms import MetadataField, choose
from console_app.templatetags.console import thousands
from ingest_app.connectors import NewConnector
from ingest_app.models import Connector

_HOUR = 3600
#: In seconds; the API takes any number.
_SCHEDULES = {
    900: _("Every 15 minutes"),
    _HOUR: _("Every hour"),
    6 * _HOUR: _("Every 6 hours"),
    24 * _HOUR: _("Every day"),
    7 * 24 * _HOUR: _("Every week"),
}
_ONLY_WHEN_ASKED = _("Only when asked")
_URLS = _("One address a line. Each becomes one document; the links of a page are not followed.")


def schedule_in_words(every_seconds: int | None) -> str:
    """How often a connector runs, for people."""
    if every_seconds is None:
        return str(_ONLY_WHEN_ASKED)
    if every_seconds in _SCHEDULES:
        return str(_SCHEDULES[every_seconds])
    minutes, seconds = divmod(every_seconds, 60)
    if seconds:
        words = ngettext("Every second", "Every %(count)s seconds", every_seconds)
        return words % {"count": thousands(every_seconds)}
    return ngettext("Every minute", "Every %(count)s minutes", minutes) % {"count": thousands(minutes)}


class _Settings(forms.Form):
    """What can be set at any time."""

    every_seconds = forms.TypedChoiceField(
        label=_("Runs"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=[("", _ONLY_WHEN_ASKED), *_SCHEDULES.items()],
        widget=UnfoldAdminSelectWidget(),
    )
    remove_vanished = forms.BooleanField(
        required=False,
        label=_("Remove documents whose file is gone"),
        widget=UnfoldBooleanSwitchWidget(),
    )
    metadata = MetadataField(
        label=_("Metadata"), help_text=_("Optional: a JSON object that every passage carries, to filter by.")
    )


class ConnectorForm(_Settings):
    """A new connector."""

    collection = forms.ChoiceField(label=_("Collection"), widget=UnfoldAdminSelectWidget())
    kind = forms.ChoiceField(label=_("Kind"), choices=Connector.Kind.choices, widget=UnfoldAdminSelectWidget())
    location = forms.CharField(
        required=False,
        max_length=4096,
        label=_("Folder or repository"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_(
            "The folder's path on the server, or the repository's address: https://example.org/team/guide.git. "
            "Leave it empty for a list of addresses."
        ),
    )
    branch = forms.CharField(
        required=False,
        max_length=200,
        label=_("Branch"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Of a repository; leave it empty for its own default."),
    )
    urls = forms.CharField(
        required=False,
        label=_("Addresses"),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5, "spellcheck": "false"}),
        help_text=_URLS,
    )
    name_prefix = forms.CharField(
        required=False,
        max_length=200,
        label=_("Prefix"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Put before the names of the files. Empty means a repository's name, and nothing for the others."),
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
        label=_("Addresses"),
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
            known = ((seconds, str(words)) for seconds, words in _SCHEDULES.items())
            choose(self, "every_seconds", [("", str(_ONLY_WHEN_ASKED)), (every, schedule_in_words(every)), *known])

    def values(self) -> dict[str, Any]:
        """What was filled in, as the service takes it."""
        given = dict(self.cleaned_data)
        if "urls" in given:
            given["urls"] = given["urls"].splitlines()
        return given
