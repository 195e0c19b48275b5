"""A connection's settings in two parts: what may be shown, with masks in the places of secrets, and the secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretBytes, SecretStr, ValidationError
from pydantic_core import to_jsonable_python

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
    """What may be shown, as JSON with a mask for each secret, and the secrets alone in the same shape.

    A list among the secrets is as long as the one that is shown, with nulls where there is no secret.
    """
    shown, secret = _parts(settings.model_dump())
    return shown, secret or {}


def _parts(value: Any) -> tuple[Any, Any]:
    """What may be shown of a value, and its secrets; None where it has none."""
    if isinstance(value, SecretStr):
        return MASK, value.get_secret_value()
    if isinstance(value, SecretBytes):
        return MASK, value.get_secret_value().decode()
    if isinstance(value, Mapping):
        pairs = {str(to_jsonable_python(key)): _parts(part) for key, part in value.items()}
        secret = {key: part for key, (_, part) in pairs.items() if part is not None}
        return {key: part for key, (part, _) in pairs.items()}, secret or None
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_parts(part) for part in value]
        secrets = [part for _, part in parts]
        return [part for part, _ in parts], secrets if any(part is not None for part in secrets) else None
    return to_jsonable_python(value), None


def whole(shown: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """The two parts put together."""
    found: dict[str, Any] = _joined(shown, secret)
    return found


def _joined(shown: Any, secret: Any) -> Any:
    if isinstance(secret, Mapping):
        inner = shown if isinstance(shown, Mapping) else {}
        return {**inner, **{key: _joined(inner.get(key), part) for key, part in secret.items()}}
    if isinstance(secret, list) and isinstance(shown, list):
        return [_joined(one, part) for one, part in zip(shown, secret, strict=True)]
    return shown if secret is None else secret


def has_mask(value: Any) -> bool:
    """Whether a mask stands anywhere in what was sent."""
    if isinstance(value, Mapping):
        return any(map(has_mask, value.values()))
    if isinstance(value, list):
        return any(map(has_mask, value))
    return bool(value == MASK)


def unmasked(sent: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent with the kept secrets in the places of their masks. Raises InvalidInput for one without."""
    return {name: _unmasked(value, secret.get(name), name) for name, value in sent.items()}


def _unmasked(value: Any, kept: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        inner = kept if isinstance(kept, Mapping) else {}
        return {name: _unmasked(part, inner.get(name), f"{place}.{name}") for name, part in value.items()}
    if isinstance(value, list):
        # In a list of another length, a mask does not say which secret it stands for.
        parts = kept if isinstance(kept, list) and len(kept) == len(value) else [None] * len(value)
        return [
            _unmasked(part, one, f"{place}.{index}") for index, (part, one) in enumerate(zip(value, parts, strict=True))
        ]
    if value != MASK:
        return value
    if not isinstance(kept, str):
        raise InvalidInput(
            f"settings.{place[:100]}: there is no secret that this mask stands for. Enter it.", code="invalid_settings"
        )
    return kept
