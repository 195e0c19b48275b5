"""Which providers there are: those of the wiring, and those that installed packages bring (A1).

A package brings one by an entry point of the group `ragsite.providers`, whose name is the provider's. One that is
broken, or whose client is not installed, is listed with the reason and stops none of the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from core_app.errors import InvalidInput, Unavailable
from core_app.model_providers import AnyProvider, ChatProvider, EmbeddingProvider, ModelProvider, ProviderKind, kind_of
from core_app.providers import Capability, ConnectionSettings, Provider

logger = logging.getLogger(__name__)

GROUP = "ragsite.providers"
#: What each kind has to be able to do.
_PORTS: Mapping[ProviderKind, tuple[type, ...]] = {
    ProviderKind.STORE: (Provider,),
    ProviderKind.EMBEDDINGS: (ModelProvider, EmbeddingProvider),
    ProviderKind.CHAT: (ModelProvider, ChatProvider),
}


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A provider by its name, usable or not."""

    name: str
    label: str
    #: None where it cannot be used; `reason` says why, and what to do.
    provider: type[AnyProvider] | None
    reason: str = ""
    #: The JSON Schema of its settings, in which secrets are `writeOnly`; None where it cannot be used (A2.1).
    connection_schema: Mapping[str, Any] | None = None
    #: Whether it is this server's own store, to which no connection leads.
    is_built_in: bool = False
    is_installed: bool = True
    #: The extra that brings its client; empty where it needs none.
    extra: str = ""

    @property
    def install_command(self) -> str:
        """What brings its client, there or not; empty where it needs none."""
        return f"script/install base {self.extra}" if self.extra else ""

    @property
    def kind(self) -> ProviderKind | None:
        """None where it cannot be used: nobody knows then."""
        return kind_of(self.provider) if self.provider else None

    @property
    def capabilities(self) -> list[Capability]:
        return sorted(self.provider.capabilities) if self.provider else []


def translated(words: str | None) -> str:
    """What a provider says of itself or of a setting, in the language of the request; empty where it says nothing."""
    return gettext(words) if words else ""


@cache
def listed() -> Mapping[str, Listed]:
    """All providers by name, sorted. Looked for once a process: a package installed later is seen after a restart."""
    found = {name: _wired(name, path, extra) for name, (path, extra) in _wiring("PROVIDERS").items()}
    own, path = _wiring("BUILT_IN_PROVIDER")
    found[own] = replace(_wired(own, path, ""), is_built_in=True, connection_schema=None)
    for point in entry_points(group=GROUP):
        if point.name in found:
            logger.error("two providers have one name; the first is used", extra={"provider": point.name})
            continue
        found[point.name] = _brought(point)
    return dict(sorted(found.items()))


def provider_named(name: str) -> type[AnyProvider]:
    """Raises InvalidInput for a name that no connection can have, and Unavailable for what cannot be used."""
    one = listed().get(name)
    if one is None:
        known = ", ".join(one.name for one in listed().values() if not one.is_built_in)
        raise InvalidInput(f"There is no provider '{name[:100]}'. Choose one of {known}.", code="unknown_provider")
    if one.is_built_in:
        raise InvalidInput(
            f"'{name}' is this server's own store and needs no connection. Leave out 'service' to reach it.",
            code="no_connection_needed",
        )
    if one.provider is None:
        raise Unavailable(one.reason, code="provider_not_usable", retry_after_seconds=60)
    return one.provider


def built_in_store() -> Provider:
    """This server's own store behind the same calls, such as for moving collections. There is nothing to close."""
    one = listed()[_wiring("BUILT_IN_PROVIDER")[0]]
    if one.provider is None:
        raise Unavailable(one.reason, code="provider_not_usable", retry_after_seconds=60)
    return cast("Provider", one.provider(one.provider.settings_model()))


def _wiring(name: str) -> Any:
    return import_string(f"{settings.RAGSITE_WIRING}.{name}")


def _wired(name: str, path: str, extra: str) -> Listed:
    """By its dotted path; `extra` brings its client and is empty where it needs none."""
    try:
        return replace(_checked(name, import_string(path)), extra=extra)
    except ImportError as error:
        if extra and isinstance(error, ModuleNotFoundError):
            missing = Listed(name=name, label=name, provider=None, is_installed=False, extra=extra)
            reason = f"The provider '{name}' is not installed. Run `{missing.install_command}` and restart."
            return replace(missing, reason=reason)
        logger.exception("a provider cannot be loaded", extra={"provider": name})
        return _broken(name)


def _brought(point: EntryPoint) -> Listed:
    try:
        return _checked(point.name, point.load())
    except Exception:  # whatever a package does while it is imported
        logger.exception("a provider cannot be loaded", extra={"provider": point.name})
        return _broken(point.name)


def _broken(name: str) -> Listed:
    reason = f"The provider '{name}' cannot be loaded; the server's log has the cause."
    return Listed(name=name, label=name, provider=None, reason=reason)


def _checked(name: str, provider: Any) -> Listed:
    try:
        kind = kind_of(provider)
    except ValueError:
        logger.exception("a provider is of no known kind", extra={"provider": name})
        return _broken(name)
    lacking = sorted(part for part in _parts(provider, kind) if not hasattr(provider, part))
    if lacking:
        logger.error("a provider lacks parts", extra={"provider": name, "lacks": lacking})
        return Listed(name=name, label=name, provider=None, reason=f"The provider '{name}' lacks {', '.join(lacking)}.")
    try:
        schema = _schema_of(provider.settings_model)
        sorted(map(Capability, provider.capabilities))
        return Listed(name=name, label=str(provider.label), provider=provider, connection_schema=schema)
    except Exception:  # whatever a package's class does while it is looked at
        logger.exception("a provider's settings or capabilities cannot be told", extra={"provider": name})
        return _broken(name)


def _schema_of(model: type[ConnectionSettings]) -> Mapping[str, Any]:
    if not issubclass(model, ConnectionSettings):
        raise TypeError("settings_model is no ConnectionSettings")
    return model.get_connection_schema()


def _parts(provider: Any, kind: ProviderKind) -> Iterator[str]:
    yield from ("label", "capabilities", "settings_model")
    for port in _PORTS[kind]:
        for name, part in vars(port).items():
            if not name.startswith("_") and (callable(part) or isinstance(part, property)):
                yield name
    if Capability.RERANKING in getattr(provider, "capabilities", ()):
        yield "rerank"
