"""Staff and their groups: what each may do, and on which collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.forms import (  # type: ignore[import-untyped]
    AdminPasswordChangeForm,
    UserCreationForm,
)

from access_app.models import Reach, User
from access_app.patterns import in_words
from access_app.roles import ROLES
from console_app.access_forms import GroupForm, PermissionsField, UserForm
from console_app.pages import FramedAdmin
from core_app.names import visible

if TYPE_CHECKING:
    _UserAdmin = DjangoUserAdmin[User]
    _GroupAdmin = DjangoGroupAdmin[Group]  # type: ignore[type-arg]
else:
    _UserAdmin, _GroupAdmin = DjangoUserAdmin, DjangoGroupAdmin

admin.site.unregister(Group)

#: What decides over others' rights: for superusers only, or whoever may edit users could become one.
POWERS = ("is_superuser", "groups", "user_permissions", "collections")


class TickedPermissions:
    """Permissions as boxes to tick, in place of two lists between which they are moved.

    It stands before Django's classes and changes nothing else of them.
    """

    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.remote_field.model is not Permission:
            base: Any = super()
            return base.formfield_for_manytomany(db_field, request, **kwargs)
        return PermissionsField(label=_("Permissions"))


@admin.register(User)
class UserAdmin(TickedPermissions, _UserAdmin, FramedAdmin):  # type: ignore[misc]  # the stubs differ in a keyword
    form = UserForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    change_form_template = "console/person.html"
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "sees", "last_login")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (
            _("Permissions"),
            {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions", "collections")},
        ),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups__reach")

    @admin.display(description=_("Sees"))
    def sees(self, row: User) -> str:
        """By groups; the user's own patterns only matter to permissions that were given directly."""
        if row.is_superuser:
            return in_words(["*"])
        found = [
            pattern for group in row.groups.all() if hasattr(group, "reach") for pattern in group.reach.collections
        ]
        return visible(in_words(sorted({*found, *row.collections})))

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
class GroupAdmin(TickedPermissions, _GroupAdmin, FramedAdmin):  # type: ignore[misc]  # the stubs differ in a keyword
    form = GroupForm
    change_form_template = "console/person.html"
    list_display = ("name", "what_it_may", "sees")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        return super().get_queryset(request).select_related("reach", "built_in").prefetch_related("permissions")

    @admin.display(description=_("May"))
    def what_it_may(self, row: Group) -> str:
        role = ROLES.get(row.built_in.role) if hasattr(row, "built_in") else None
        if role is not None:
            return str(role.words)
        count = len(row.permissions.all())
        return ngettext("%(count)s permission", "%(count)s permissions", count) % {"count": count}

    @admin.display(description=_("Sees"))
    def sees(self, row: Group) -> str:
        return visible(in_words(row.reach.collections if hasattr(row, "reach") else []))

    def get_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        """Only superusers decide over rights; others see them, and may change the name."""
        if request.user.is_superuser:
            return ("name", "collections", "permissions")
        return ("name", "sees", "permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        return () if request.user.is_superuser else ("sees", "permissions")

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "collections" in form.cleaned_data and request.user.is_superuser:
            Reach.objects.update_or_create(group=obj, defaults={"collections": form.cleaned_data["collections"]})
