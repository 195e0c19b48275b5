"""What an origin holds: named files, each read when its turn comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core_app.errors import InvalidInput


class Unreadable(InvalidInput):
    """A file or a whole origin that could not be had; the others are read all the same."""

    code = "unreadable"


@dataclass(frozen=True, kw_only=True)
class FoundFile:
    """`name` is the source of its document; `read` raises Unreadable."""

    name: str
    read: Callable[[], bytes]
