"""The audit log: read here, written by services, never changed."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from access_app.audit_words import ACTIONS
from access_app.models import AuditEntry
from access_app.patterns import named
from console_app.audit_pages import keyset_page
from console_app.forms import choose
from console_app.pages import ServiceAdmin
from console_app.permissions import require
from console_app.reached import names_for


class AuditForm(forms.Form):
    """What to look for in the log."""

    actor = forms.CharField(
        label=gettext_lazy("Who"),
        required=False,
        max_length=300,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "off", "placeholder": gettext_lazy("a name, in full")}
        ),
    )
    action = forms.ChoiceField(label=gettext_lazy("What"), required=False, widget=UnfoldAdminSelectWidget())
    collection = forms.ChoiceField(label=gettext_lazy("Collection"), required=False, widget=UnfoldAdminSelectWidget())
    since = forms.DateField(
        label=gettext_lazy("From (UTC)"),
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}),
    )
    until = forms.DateField(
        label=gettext_lazy("Through (UTC)"),
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}),
    )
    #: Of one object, as the entries' links have it.
    about = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput())

    def __init__(self, data: Any, *, collections: list[str]) -> None:
        super().__init__(data)
        asked = data.get("collection", "")
        gone = [asked] if asked and asked not in collections else []
        choose(self, "action", [("", _("Anything")), *((action, str(words)) for action, words in ACTIONS.items())])
        choose(self, "collection", [("", _("Any")), *((name, name) for name in [*collections, *gone])])

    def narrowed(self, entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Those of the entries that were asked for."""
        given = self.cleaned_data
        for field in ("actor", "action", "collection"):
            if given.get(field):
                entries = entries.filter(**{field: given[field]})
        if given.get("since"):
            entries = entries.filter(at__gte=_midnight(given["since"]))
        if given.get("until"):
            entries = entries.filter(at__lt=_midnight(given["until"]) + datetime.timedelta(days=1))
        if given.get("about"):
            kind, _colon, key = given["about"].partition(":")
            entries = entries.filter(object_type=kind, object_id=key)
        return entries


@admin.register(AuditEntry)
class AuditEntryAdmin(ServiceAdmin):
    def within_reach(self, rows: QuerySet[AuditEntry], patterns: frozenset[str]) -> QuerySet[AuditEntry]:
        """By the name that the collection had then. What belongs to none is for those who reach everything."""
        return rows.filter(named("collection", sorted(patterns)))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The log, newest first."""
        require(request, "view_audit")
        form = AuditForm(request.GET, collections=names_for(request.user, "view_audit"))
        entries = self.get_queryset(request)
        entries = form.narrowed(entries) if form.is_valid() else entries.none()
        asked = {key: value for key, value in request.GET.items() if value and key in form.fields}
        return self.page(
            request,
            "audit.html",
            title=_("Audit log"),
            content_title=_("Audit log"),
            opts=None,
            form=form,
            asked=asked,
            kept=urlencode(asked),
            **keyset_page(entries, before=request.GET.get("before")),
        )


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC)
