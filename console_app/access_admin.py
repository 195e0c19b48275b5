"""The keys of applications."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from access_app.giving import check_gift
from access_app.models import ApiKey, User
from access_app.patterns import is_everything, reaches
from access_app.services import create_key, revoke_key
from console_app.failures import EXPECTED, sentence
from console_app.forms import ApiKeyForm
from console_app.pages import Action, ServiceAdmin
from console_app.permissions import may, require
from console_app.templatetags.console import label
from core_app.names import visible


@admin.register(ApiKey)
class ApiKeyAdmin(ServiceAdmin):
    list_display = ("name", "prefix", "verb_list", "collection_list", "status", "last_used_at", "expires_at")
    list_display_links = ("name",)
    search_fields = ("name", "prefix")
    search_help_text = gettext_lazy("Search by name or prefix")
    belongs_to = "collections"
    empty_title = gettext_noop("No API keys yet")
    empty_text = gettext_noop(
        "Applications send a key with each request. On this machine, in Development, none is needed."
    )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.revoke_view)
        return [path("<int:key_id>/revoke/", view, name="access_apikey_revoke"), *super().get_urls()]

    def within_reach(self, rows: QuerySet[ApiKey], patterns: frozenset[str]) -> QuerySet[ApiKey]:
        """Those that reach nothing which the user does not. There are few, so they are told apart here."""
        if is_everything(patterns):
            return rows
        found = rows.values_list("pk", "collections")
        return rows.filter(pk__in=[key for key, names in found if all(reaches(patterns, name) for name in names)])

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "create_keys"):
            return []
        return [Action(label=_("New API key"), url=reverse("admin:access_apikey_add"), icon="add", primary=True)]

    @admin.display(description=gettext_lazy("May"))
    def verb_list(self, row: ApiKey) -> str:
        return ", ".join(row.verbs)

    @admin.display(description=gettext_lazy("Collections"))
    def collection_list(self, row: ApiKey) -> str:
        return _("all") if row.collections == ["*"] else visible(", ".join(row.collections))

    @admin.display(description=gettext_lazy("State"))
    def status(self, row: ApiKey) -> SafeString:
        return key_label(row)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make a key; its secret is in the answer to this one request and nowhere else."""
        require(request, "create_keys")
        form = ApiKeyForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            try:
                assert isinstance(request.user, User), "whoever came as far has logged in"
                check_gift(giver=request.user, verbs=given["verbs"], collections=given["collections"])
                key, secret = create_key(
                    name=given["name"],
                    verbs=given["verbs"],
                    collections=given["collections"],
                    expires_at=_end_of(given["expires_on"]),
                )
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self.page(request, "key_made.html", title=_("New API key"), key=key, secret=secret)
        return self.page(request, "key_add.html", title=_("New API key"), form=form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One key: what it allows, and the button that ends it."""
        require(request, "view_keys")
        row = self.found(request, object_id)
        return self.page(request, "key.html", title=row.name, row=row, label=key_label(row))

    def revoke_view(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """End a key for good."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        require(request, "revoke_keys")
        key = self.found(request, str(key_id))
        revoke_key(key=key)
        said = _("The key '%(name)s' was revoked. Whoever still sends it is refused.")
        messages.success(request, said % {"name": key.name})
        return redirect("admin:access_apikey_change", key_id)


def key_label(key: ApiKey) -> SafeString:
    """A key's state as a coloured word."""
    if key.revoked_at is not None:
        return label(_("Revoked"), "danger")
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return label(_("Expired"), "warning")
    return label(_("Valid"), "success")


def _end_of(day: datetime.date | None) -> datetime.datetime | None:
    """The moment after the last one of a day."""
    if day is None:
        return None
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC) + datetime.timedelta(days=1)
