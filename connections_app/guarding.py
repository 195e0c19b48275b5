"""What a provider does not declare is refused before it is asked: here alone capabilities are enforced (A2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from core_app.errors import InvalidInput
from core_app.providers import Capability, Provider

_Needs = Callable[[Mapping[str, Any]], Iterator[Capability]]

#: What a caller can do where something is missing; elsewhere nothing but to use another connection.
_INSTEAD: Mapping[Capability, str] = {
    Capability.METADATA_FILTERING: "Ask without a filter, or use another connection.",
    Capability.NESTED_METADATA: "Send metadata of plain values and lists of them, or use another connection.",
}


def guarded(provider: Provider) -> Provider:
    """The same provider, whose calls raise InvalidInput (`not_supported`) for what it does not declare."""
    return cast("Provider", _Guarded(provider))


class _Guarded:
    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        needs = _NEEDS.get(name)
        if needs is None:
            return getattr(self._provider, name)

        def call(**given: Any) -> Any:
            for capability in needs(given):
                self._require(capability)
            return getattr(self._provider, name)(**given)

        return call

    def _require(self, capability: Capability) -> None:
        if capability not in self._provider.capabilities:
            raise InvalidInput(
                f"The provider '{self._provider.label}' does not support '{capability.value}', which this needs. "
                + _INSTEAD.get(capability, "Use another connection."),
                code="not_supported",
            )


def _always(capability: Capability) -> _Needs:
    return lambda _given: iter((capability,))


def _filter(given: Mapping[str, Any]) -> Iterator[Capability]:
    if given.get("where") is not None:
        yield Capability.METADATA_FILTERING


def _search(given: Mapping[str, Any]) -> Iterator[Capability]:
    yield Capability.SEARCH
    yield from _filter(given)


def _chunks(given: Mapping[str, Any]) -> Iterator[Capability]:
    if any(_is_nested(chunk.metadata) for chunk in given["chunks"]):
        yield Capability.NESTED_METADATA


def _change(given: Mapping[str, Any]) -> Iterator[Capability]:
    if _is_nested(given.get("metadata") or {}):
        yield Capability.NESTED_METADATA


def _is_nested(metadata: Mapping[str, Any]) -> bool:
    """Whether there is an object, or a list in which an object or a list is."""
    return any(
        isinstance(value, Mapping)
        or (isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value))
        for value in metadata.values()
    )


#: By the call's name. Upserts and transactions are told, not asked for; a filter's operators the provider refuses.
_NEEDS: Mapping[str, _Needs] = {
    "create_collection": _always(Capability.COLLECTIONS),
    "update_metadata": _always(Capability.COLLECTIONS),
    "delete_collection": _always(Capability.COLLECTIONS),
    "add": _chunks,
    "change_chunk": _change,
    "list_chunks": _filter,
    "delete_chunks": _filter,
    "metadata_values": _always(Capability.METADATA_FILTERING),
    "nearest": _search,
    "rerank": _always(Capability.RERANKING),
}
