"""What a provider does not declare is refused before it is asked: here alone capabilities are enforced (A2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from core_app.errors import InvalidInput
from core_app.providers import Capability

Guarded = TypeVar("Guarded")
#: What a caller can do where something is missing; elsewhere nothing but to use another connection.
_INSTEAD: Mapping[Capability, str] = {
    Capability.METADATA_FILTERING: "Ask without a filter, or use another connection.",
    Capability.NESTED_METADATA: "Send metadata of plain values and lists of them, or use another connection.",
}


def guarded(provider: Guarded) -> Guarded:
    """The same provider, whose calls raise InvalidInput (`not_supported`) for what it does not declare."""
    return cast("Guarded", _Guarded(provider))


class _Guarded:
    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        needs = _NEEDS.get(name)
        if needs is None:
            return getattr(self._provider, name)

        def call(**given: Any) -> Any:
            for capability, is_needed in needs.items():
                if capability not in self._provider.capabilities and is_needed(given):
                    raise _not_supported(self._provider, capability)
            return getattr(self._provider, name)(**given)

        return call


def _not_supported(provider: Any, capability: Capability) -> InvalidInput:
    instead = _INSTEAD.get(capability, "Use another connection.")
    return InvalidInput(
        f"The provider '{provider.label}' does not support '{capability.value}', which this needs. {instead}",
        code="not_supported",
    )


def _always(_given: Mapping[str, Any]) -> bool:
    return True


def _is_filtered(given: Mapping[str, Any]) -> bool:
    return given.get("where") is not None


def _adds_nested(given: Mapping[str, Any]) -> bool:
    return any(_is_nested(chunk.metadata) for chunk in given["chunks"])


def _changes_nested(given: Mapping[str, Any]) -> bool:
    return _is_nested(given.get("metadata") or {})


def _is_nested(metadata: Mapping[str, Any]) -> bool:
    """Whether there is an object, or a list in which an object or a list is."""
    return any(
        isinstance(value, Mapping)
        or (isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value))
        for value in metadata.values()
    )


#: By the call's name. Upserts and transactions are told, not asked for; a filter's operators the provider refuses.
_NEEDS: Mapping[str, Mapping[Capability, Callable[[Mapping[str, Any]], bool]]] = {
    "create_collection": {Capability.COLLECTIONS: _always},
    "update_metadata": {Capability.COLLECTIONS: _always},
    "delete_collection": {Capability.COLLECTIONS: _always},
    "add": {Capability.NESTED_METADATA: _adds_nested},
    "change_chunk": {Capability.NESTED_METADATA: _changes_nested},
    "list_chunks": {Capability.METADATA_FILTERING: _is_filtered},
    "delete_chunks": {Capability.METADATA_FILTERING: _is_filtered},
    "metadata_values": {Capability.METADATA_FILTERING: _always},
    "nearest": {Capability.SEARCH: _always, Capability.METADATA_FILTERING: _is_filtered},
    "rerank": {Capability.RERANKING: _always},
}
