"""Choosing without chance: the same things whichever day, machine and order of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


def number(key: str) -> int:
    """A large number that looks like chance and depends on the key alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def some(keys: Iterable[str], count: int, *, purpose: str) -> list[str]:
    """`count` of the keys, or all where they are fewer; another purpose picks others."""
    return sorted(keys, key=lambda key: number(f"{purpose}\n{key}"))[:count]


def one(things: Sequence[Thing], key: str) -> Thing:
    """One of the things."""
    return things[number(key) % len(things)]


def clipped(text: str, most: int) -> str:
    """The beginning of a text, cut between words."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]
