"""The form of a connection, made of its provider's settings model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from connections_app.registry import Listed, translated
from connections_app.secret_settings import MASK
from core_app.errors import InvalidInput
from core_app.model_providers import ProviderKind
from core_app.providers import ConnectionSettings

#: What connections bring.
KINDS = {
    ProviderKind.STORE: gettext_lazy("Vector system"),
    ProviderKind.EMBEDDINGS: gettext_lazy("Embeddings"),
    ProviderKind.CHAT: gettext_lazy("Chat model"),
}
_PREFIX = "setting_"
_QUIET = {"autocomplete": "off", "spellcheck": "false"}
#: A browser would fill in the password of the person who logs in here.
_SECRET = {"autocomplete": "new-password", "spellcheck": "false"}


class ProviderForm(forms.Form):
    """Which kind of system."""

    provider = forms.ChoiceField(label=gettext_lazy("Provider"), widget=UnfoldAdminSelectWidget())

    def __init__(self, *args: Any, providers: list[Listed], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["provider"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (str(label), [(one.name, translated(one.label)) for one in providers if one.kind is kind])
            for kind, label in KINDS.items()
        ]


class ConnectionForm(forms.Form):
    """A connection's name, and a field for each of its provider's settings."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, widget=UnfoldAdminTextInputWidget(attrs=_QUIET), strip=True
    )

    def __init__(self, *args: Any, model: type[ConnectionSettings], shown: Mapping[str, Any], **kwargs: Any) -> None:
        """`shown` is the settings as they are kept, with masks in the places of secrets."""
        super().__init__(*args, **kwargs)
        self._model = model
        for name, info in model.model_fields.items():
            field = _field(info)
            field.label = translated(info.title) or name
            # Written for the docs, too, where these set code apart.
            field.help_text = translated(info.description).replace("`", "")
            value = shown.get(name, None if info.is_required() else info.get_default(call_default_factory=True))
            field.initial = _lines(value) if isinstance(value, Mapping) else value
            self.fields[_PREFIX + name] = field

    def settings(self) -> dict[str, Any]:
        """As the services take them; what was left empty is left out."""
        found = {}
        for name in self._model.model_fields:
            value = self.cleaned_data[_PREFIX + name]
            if value not in (None, "", {}):
                found[name] = value
        return found

    def tell(self, error: InvalidInput) -> None:
        """Put what the services say at the fields that it is about."""
        for place, messages in (error.errors or {}).items():
            field = _PREFIX + place.partition(".")[0]
            self.add_error(field if field in self.fields else None, messages)
        if not error.errors:
            self.add_error("name" if error.code in {"invalid_name", "connection_exists"} else None, error.detail)

    def withhold(self) -> None:
        """Take typed secrets out of a form that is shown again: no page has one in it. What was kept stays kept."""
        if not self.is_bound:
            return
        shown = dict(self.data.items())
        for name, field in self.fields.items():
            typed = str(shown.get(name) or "")
            if isinstance(field, HeadersField):
                lines = [line.partition(":")[::2] for line in typed.splitlines() if line.strip()]
                left = "\n".join(f"{key}: {MASK if text.strip() == MASK else ''}" for key, text in lines)
            elif isinstance(field, SecretField):
                left = typed if typed == MASK else str(field.initial or "")
            else:
                continue
            if left.replace(" ", "") != typed.replace(" ", "").replace("\r", ""):
                shown[name] = left
                self.add_error(name, _("Type this again: what was typed does not go back to the browser."))
        self.data = shown


class SecretField(forms.CharField):
    """A key or a password."""

    def __init__(self, **kwargs: Any) -> None:
        # A mask is shown; what was typed is taken out by the form's `withhold`.
        super().__init__(widget=UnfoldAdminPasswordWidget(attrs=_SECRET, render_value=True), strip=True, **kwargs)


class HeadersField(forms.CharField):
    """Lines of `Name: value`; the cleaned value is a mapping."""

    def to_python(self, value: Any) -> Any:
        found: dict[str, str] = {}
        for line in str(super().to_python(value) or "").splitlines():
            name, colon, text = line.partition(":")
            if line.strip() and not (colon and name.strip() and text.strip()):
                raise forms.ValidationError(_("Write one 'Name: value' a line."))
            if line.strip():
                found[name.strip()] = text.strip()
        return found

    def run_validators(self, value: Any) -> None:
        """Each value is checked by the provider's model."""


def _field(info: FieldInfo) -> forms.Field:
    kinds = set(_kinds(info.annotation))
    if any(isinstance(kind, type) and issubclass(kind, Mapping) for kind in kinds):
        return HeadersField(required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, **_QUIET}))
    if SecretStr in kinds:
        return SecretField(required=info.is_required())
    if bool in kinds:
        return forms.BooleanField(required=False, widget=UnfoldBooleanSwitchWidget())
    if kinds & {int, float}:
        number = forms.IntegerField if int in kinds else forms.FloatField
        return number(required=info.is_required(), widget=UnfoldAdminTextInputWidget(attrs=_QUIET))
    if str in kinds:
        return forms.CharField(required=info.is_required(), widget=UnfoldAdminTextInputWidget(attrs=_QUIET))
    return forms.JSONField(required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, **_QUIET}))


def _kinds(annotation: Any) -> Iterator[Any]:
    """The classes of a setting: of each part of a union, without what is noted about it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    else:
        yield origin or annotation


def _lines(value: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {text if isinstance(text, str) else json.dumps(text)}" for name, text in value.items())
