"""Staff, their groups, and the keys of applications."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.forms import (  # type: ignore[import-untyped]
    AdminPasswordChangeForm,
    UserChangeForm,
    UserCreationForm,
)

from access_app.models import ApiKey, User
from access_app.services import create_key, revoke_key
from console_app.failures import EXPECTED, sentence
from console_app.forms import ApiKeyForm
from console_app.pages import Action, ServiceAdmin, UnfoldModelAdmin
from console_app.permissions import may, require
from console_app.templatetags.console import label

if TYPE_CHECKING:
    _UserAdmin = DjangoUserAdmin[User]
    _GroupAdmin = DjangoGroupAdmin[Group]  # type: ignore[type-arg]
else:
    _UserAdmin, _GroupAdmin = DjangoUserAdmin, DjangoGroupAdmin

admin.site.unregister(Group)

#: What decides over others' rights: for superusers only, or whoever may edit users could become one.
POWERS = ("is_superuser", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(_UserAdmin, UnfoldModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else (*fixed, *POWERS)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def _may_touch(self, request: HttpRequest, obj: User | None) -> bool:
        """A superuser's account, password included, is for superusers."""
        return request.user.is_superuser or obj is None or not obj.is_superuser


@admin.register(Group)
class GroupAdmin(_GroupAdmin, UnfoldModelAdmin):
    pass


@admin.register(ApiKey)
class ApiKeyAdmin(ServiceAdmin):
    list_display = ("name", "prefix", "verb_list", "collection_list", "status", "last_used_at", "expires_at")
    list_display_links = ("name",)
    search_fields = ("name", "prefix")
    search_help_text = "Search by name or prefix"
    empty_title = "No API keys yet"
    empty_text = "Applications send a key with each request. On this machine, in Development, none is needed."

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.revoke_view)
        return [path("<int:key_id>/revoke/", view, name="access_apikey_revoke"), *super().get_urls()]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "create_keys"):
            return []
        return [Action(label="New API key", url=reverse("admin:access_apikey_add"), icon="add", primary=True)]

    @admin.display(description="May")
    def verb_list(self, row: ApiKey) -> str:
        return ", ".join(row.verbs)

    @admin.display(description="Collections")
    def collection_list(self, row: ApiKey) -> str:
        return "all" if row.collections == ["*"] else ", ".join(row.collections)

    @admin.display(description="State")
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
                key, secret = create_key(
                    name=given["name"],
                    verbs=given["verbs"],
                    collections=given["collections"],
                    expires_at=_end_of(given["expires_on"]),
                )
            except EXPECTED as error:
                form.add_error(None, sentence(error))
            else:
                return self.page(request, "key_made.html", title="New API key", key=key, secret=secret)
        return self.page(request, "key_add.html", title="New API key", form=form)

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
        messages.success(request, f"The key '{key.name}' was revoked. Whoever still sends it is refused.")
        return redirect("admin:access_apikey_change", key_id)


def key_label(key: ApiKey) -> SafeString:
    """A key's state as a coloured word."""
    if key.revoked_at is not None:
        return label("Revoked", "danger")
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return label("Expired", "warning")
    return label("Valid", "success")


def _end_of(day: datetime.date | None) -> datetime.datetime | None:
    """The moment after the last one of a day."""
    if day is None:
        return None
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC) + datetime.timedelta(days=1)
