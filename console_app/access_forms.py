"""What superusers fill in about who reaches what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.auth.models import Group, Permission
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from unfold.forms import UserChangeForm  # type: ignore[import-untyped]
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminTextareaWidget,
)

from access_app.patterns import check_patterns
from console_app.permissions import ABILITIES
from core_app.errors import InvalidInput

_HOW = _("Names, one a line. An asterisk stands for any characters: team-* or, for all collections, *. Empty: none.")


class PatternsField(forms.CharField):
    """Names and patterns of collections, one a line; the cleaned value is a list."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "spellcheck": "false"})
        super().__init__(**{"required": False, "widget": widget, "label": _("Collections"), **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = [line.strip() for line in str(super().to_python(value)).splitlines()]
        try:
            return check_patterns([line for line in lines if line])
        except InvalidInput as error:
            raise forms.ValidationError(error.detail) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed("\n".join(initial or ()), data))

    def run_validators(self, value: Any) -> None:
        """What is checked of texts was checked of each line."""


#: What the pages ask for, beside what Django's own do of users and groups.
_ASKED = sorted({needed for needs in ABILITIES.values() for needed in needs})


def _asked() -> Q:
    found = Q(content_type__app_label="auth", content_type__model="group")
    found |= Q(content_type__app_label="access", content_type__model="user")
    for permission in _ASKED:
        app, _dot, codename = permission.partition(".")
        found |= Q(content_type__app_label=app, codename=codename)
    return found


class PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """Permissions to tick, each in a few words; every one is seen, and reached by keyboard."""

    def __init__(self, **kwargs: Any) -> None:
        found = Permission.objects.select_related("content_type").filter(_asked())
        widget = UnfoldAdminCheckboxSelectMultipleWidget(attrs={"class": "rs-permissions"})
        super().__init__(found, **{"required": False, "widget": widget, **kwargs})

    def label_from_instance(self, obj: Any) -> str:
        return str(obj.name.removeprefix("Can ").capitalize())

    def keep(self, held: Iterable[Any]) -> None:
        """Offer these, too: what is held and not offered would go when the form is saved."""
        self.queryset = Permission.objects.select_related("content_type").filter(_asked() | Q(pk__in=held))


class UserForm(UserChangeForm):  # type: ignore[misc]  # django-unfold has no types
    """A user, with where the user's own permissions hold."""

    collections = PatternsField(
        label=_("Collections of the user's own permissions"),
        help_text=_(
            "Permissions given to this user directly hold on these; those of a group hold on the group's. "
            "Names, one a line: team-* or, for all collections, *. Empty: none."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        permissions = self.fields.get("user_permissions")
        if isinstance(permissions, PermissionsField):
            permissions.keep(self.instance.user_permissions.values_list("pk", flat=True))


class GroupForm(forms.ModelForm):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """A group, with where its permissions hold."""

    collections = PatternsField(label=_("Collections"), help_text=_HOW)

    class Meta:
        model = Group
        fields = ("name", "permissions")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        permissions = self.fields.get("permissions")
        if isinstance(permissions, PermissionsField) and self.instance.pk:
            permissions.keep(self.instance.permissions.values_list("pk", flat=True))
        if "collections" in self.fields:
            # A new group sees all, unless one writes something else: as keys do.
            reach = getattr(self.instance, "reach", None) if self.instance.pk else None
            self.initial["collections"] = ["*"] if not self.instance.pk else list(reach.collections if reach else ())
