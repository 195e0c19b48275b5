"""The port of what brings collections to other systems; found by the wiring, as those of `core_app.ports` are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Mover(Protocol):
    """Brings collections to where connections lead, to be searched there."""

    def begin(self, *, collection_id: int, service: str, name_there: str) -> None:
        """Note where a collection is to be brought, in the caller's transaction; takes its write lock.

        Raises NotFound for the connection, InvalidInput where it cannot be, Conflict where it is searched there.
        """

    def bring(self, *, collection_id: int, told: Callable[[str, int, int], None]) -> Mapping[str, Any]:
        """Send all chunks, compare them with those here, have them searched there; what came of it, by name.

        `told` what is done, how many of how many chunks, and may raise. May be cut off and called again. Raises what
        the provider raises, and Conflict where something else is in the way there.
        """

    def withdraw(self, *, collection_id: int) -> bool:
        """Have a collection searched here again, in the caller's transaction; False where it is. Takes the lock."""

    def give_up(self, *, collection_id: int) -> None:
        """Forget where a collection was to be brought."""
