"""Connections: made, changed, looked at, opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from access_app.audit import record
from connections_app.models import Connection
from connections_app.opening import forget
from connections_app.registry import Listed, listed, provider_named
from connections_app.sealing import seal, unseal
from connections_app.secret_settings import checked, has_mask, parted, unmasked
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.model_providers import ProviderKind
from core_app.wiring import app_settings

#: A name is written in addresses and settings files.
NAME_RULE = (
    "A connection's name has 1 to 100 letters, digits, dots, hyphens and underscores. It begins with a letter or digit."
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: The store that is always there; no connection has its name.
BUILT_IN = "built-in"
#: Of settings; more is a mistake.
_LARGEST = 100_000


@dataclass(frozen=True, kw_only=True)
class Described:
    """A connection for people and programs: secrets masked."""

    connection: Connection
    settings: Mapping[str, Any]
    #: What its provider is; None where no provider has that name any more.
    listed: Listed | None


def list_connections() -> list[Described]:
    """All of them, by name."""
    return [describe(connection=one) for one in Connection.objects.order_by("name")]


def names_of_kind(*, kind: ProviderKind) -> list[str]:
    """Of the connections that bring this, by name."""
    providers = [one.name for one in listed().values() if one.kind is kind]
    return list(Connection.objects.filter(provider__in=providers).order_by("name").values_list("name", flat=True))


def get_connection(*, name: str) -> Connection:
    """Raises NotFound."""
    return _found(Connection.objects.all(), name)


def describe(*, connection: Connection) -> Described:
    """What stands in the place of a secret is its mask, so nothing is decrypted."""
    return Described(connection=connection, settings=connection.settings, listed=listed().get(connection.provider))


def create_connection(*, name: str, provider: str, settings: Mapping[str, Any]) -> Connection:
    """Keep a connection; nothing is asked of the service.

    Raises InvalidInput for a name, a provider or settings that cannot be (`errors` says which), Conflict for a name
    that is taken.
    """
    _check_name(name)
    _check_not_configured(name, provider)
    if has_mask(settings):
        raise InvalidInput("Enter the secrets themselves: nothing is kept yet.", code="invalid_settings")
    new = Connection(name=name, provider=provider)
    _keep(new, settings)
    with transaction.atomic():
        made, is_new = Connection.objects.get_or_create(
            name=name, defaults={"provider": provider, "settings": new.settings, "secrets": new.secrets}
        )
        if not is_new:
            raise _taken(name)
        record("connection.created", made, after=_for_the_log(made))
    return made


def change_connection(
    *, name: str, new_name: str | None = None, settings: Mapping[str, Any] | None = None
) -> Connection:
    """Give a connection another name or other settings; a secret that is sent as its mask stays as it is.

    Raises as `create_connection` does, and NotFound.
    """
    with transaction.atomic():
        connection = _locked(name)
        before = _for_the_log(connection)
        if settings is not None:
            _set(connection, settings)
        if new_name is not None and new_name != connection.name:
            _check_name(new_name)
            _check_renamable(connection)
            connection.name = new_name
        try:
            with transaction.atomic():
                connection.save()
        except IntegrityError:  # nothing but the name is unique among what can change
            raise _taken(connection.name) from None
        record("connection.changed", connection, before=before, after=_for_the_log(connection))
    return connection


def delete_connection(*, name: str) -> None:
    """Forget a connection; what the service holds stays there. Raises NotFound, Conflict while it is in use."""
    with transaction.atomic():
        connection = _locked(name)
        record("connection.deleted", connection, before=_for_the_log(connection))
        key = connection.pk
        try:
            with transaction.atomic():
                connection.delete()
        except IntegrityError:
            raise Conflict(
                f"Collections are searched at '{connection.name}'. Move them elsewhere first.", code="connection_in_use"
            ) from None
    forget(key)


def _locked(name: str) -> Connection:
    """For the rest of the transaction; who waited for another sees what that one left. Raises NotFound."""
    return _found(Connection.objects.select_for_update(), name)


def _found(among: QuerySet[Connection], name: str) -> Connection:
    found = among.filter(name=name).first() if "\x00" not in name else None
    if found is None:
        raise NotFound(f"There is no connection '{name[:100]}'.", code="connection_not_found")
    return found


def _set(connection: Connection, settings: Mapping[str, Any]) -> None:
    """New settings, in which a mask stands for the secret that is kept, unless it would go somewhere else then."""
    if not has_mask(settings):
        _keep(connection, settings)
        return
    model = provider_named(connection.provider).settings_model
    moved = sorted(key for key in model.addresses if settings.get(key) != connection.settings.get(key))
    if moved:
        raise InvalidInput(
            f"Enter the secrets again: '{moved[0]}' has changed, and they would be sent there.",
            code="secrets_needed",
            errors={moved[0]: ["With another one the secrets must be entered again."]},
        )
    _keep(connection, unmasked(settings, {} if connection.secrets is None else unseal(connection.secrets)))


def _keep(connection: Connection, settings: Mapping[str, Any]) -> None:
    if len(str(settings)) > _LARGEST:
        raise InvalidInput("The settings are too long.", code="invalid_settings")
    shown, secret = parted(checked(provider_named(connection.provider).settings_model, settings))
    connection.settings = shown
    connection.secrets = seal(secret) if secret else None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(NAME_RULE, code="invalid_name")
    if name == BUILT_IN:
        raise InvalidInput(f"'{BUILT_IN}' is the name of the built-in store. Choose another.", code="invalid_name")


def _check_not_configured(name: str, provider: str) -> None:
    """The configured embedder has a name, too."""
    known = listed().get(provider)
    if known is not None and known.kind is ProviderKind.EMBEDDINGS and name == app_settings().embedding.connection:
        raise InvalidInput(
            f"'{name}' is the name of the server's own embedder (Embedding:Connection). Choose another.",
            code="invalid_name",
        )


def _check_renamable(connection: Connection) -> None:
    known = listed().get(connection.provider)
    if known is not None and known.kind is ProviderKind.EMBEDDINGS:
        raise Conflict(
            "Collections know an embedding connection by its name, so it keeps it. Make another connection.",
            code="name_is_fixed",
        )


def _taken(name: str) -> Conflict:
    return Conflict(f"There is a connection '{name}' already. Choose another name.", code="connection_exists")


def _for_the_log(connection: Connection) -> dict[str, Any]:
    """A secret that was changed is told by a part of its encrypted form, which tells nothing of it."""
    sealed = b"" if connection.secrets is None else bytes(connection.secrets)
    return {
        "name": connection.name,
        "provider": connection.provider,
        "settings": connection.settings,
        "secrets": f"set ({sha256(sealed).hexdigest()[:8]})" if sealed else "none",
    }
