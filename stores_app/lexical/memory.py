"""What was read or computed lately, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

#: What an entry takes besides its arrays: its key, its place in here, Python's objects around the arrays.
_ENTRY_BYTES = 500


class Memory:
    """Values by key, those that were not used for longest forgotten first; safe between threads.

    Two threads that miss the same value both make it. No lock is held meanwhile, and either one may be kept:
    so a key must say everything that its value depends on, and a value must never be changed.
    """

    def __init__(self, *, limit: int) -> None:
        """With a limit of 0 bytes nothing is kept."""
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def find(self, keys: Sequence[Hashable]) -> list[Any]:
        """The value of each key, None where there is none."""
        found: list[Any] = []
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    found.append(None)
                else:
                    self._entries.move_to_end(key)
                    found.append(entry[0])
        return found

    def keep(self, key: Hashable, value: Any, *, size: int) -> None:
        """`size` are the bytes of the value's arrays; one that is larger than all that may be kept is not."""
        size += _ENTRY_BYTES
        if not self.takes(size):
            return
        with self._lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = value, size
            self._bytes += size - before
            while self._bytes > self._limit:
                _, (_, gone) = self._entries.popitem(last=False)
                self._bytes -= gone

    def takes(self, size: int) -> bool:
        """Whether something of so many bytes can be kept without forgetting nearly everything else for it."""
        return size * 4 <= self._limit

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        with self._lock:
            return self._bytes
