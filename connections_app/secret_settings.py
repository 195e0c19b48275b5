"""A connection's settings in two parts: what may be shown, with masks in the places of secrets, and the secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr, ValidationError

from core_app.errors import InvalidInput
from core_app.providers import ConnectionSettings

#: Shown in place of a secret; sent back, it stands for the secret that is kept.
MASK = "********"


def checked(model: type[ConnectionSettings], settings: Mapping[str, Any]) -> ConnectionSettings:
    """The settings as the provider has them. Raises InvalidInput with `errors` by field."""
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        fields: dict[str, list[str]] = {}
        for mistake in error.errors(include_url=False, include_input=False, include_context=False):
            place = ".".join(str(part) for part in mistake["loc"])[:200]
            unknown = mistake["type"] == "extra_forbidden"
            words = "There is no such setting." if unknown else f"{mistake['msg'].removeprefix('Value error, ')}."
            fields.setdefault(place, []).append(words)
        place, messages = next(iter(fields.items()))
        raise InvalidInput(f"settings.{place}: {messages[0]}", code="invalid_settings", errors=fields) from None


def parted(settings: ConnectionSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """What may be shown, as JSON with a mask for each secret, and the secrets alone in the same shape."""
    shown: dict[str, Any] = {}
    secret: dict[str, Any] = {}
    for name, value in settings.model_dump().items():
        _part(name, value, shown, secret)
    return shown, secret


def _part(name: str, value: Any, shown: dict[str, Any], secret: dict[str, Any]) -> None:
    if isinstance(value, SecretStr):
        shown[name], secret[name] = MASK, value.get_secret_value()
    elif isinstance(value, Mapping):
        inner_shown: dict[str, Any] = {}
        inner_secret: dict[str, Any] = {}
        for key, part in value.items():
            _part(str(key), part, inner_shown, inner_secret)
        shown[name] = inner_shown
        if inner_secret:
            secret[name] = inner_secret
    else:
        shown[name] = value


def whole(shown: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """The two parts put together."""
    found = dict(shown)
    for name, value in secret.items():
        inner = found.get(name)
        found[name] = whole(inner if isinstance(inner, Mapping) else {}, value) if isinstance(value, Mapping) else value
    return found


def has_mask(value: Any) -> bool:
    """Whether a mask stands anywhere in what was sent."""
    if isinstance(value, Mapping):
        return any(map(has_mask, value.values()))
    return bool(value == MASK)


def unmasked(sent: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent with the kept secrets in the places of their masks. Raises InvalidInput for one without."""
    found: dict[str, Any] = {}
    for name, value in sent.items():
        kept = secret.get(name)
        if isinstance(value, Mapping):
            found[name] = unmasked(value, kept if isinstance(kept, Mapping) else {})
        elif value == MASK and isinstance(kept, str):
            found[name] = kept
        elif value == MASK:
            raise InvalidInput(
                f"settings.{name[:100]}: there is no secret that this mask stands for. Enter it.",
                code="invalid_settings",
            )
        else:
            found[name] = value
    return found
