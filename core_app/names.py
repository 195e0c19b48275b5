"""Names: what may name a collection, one rule for every door, and how any name is shown on a terminal."""

from __future__ import annotations

import unicodedata

MAX_NAME_LENGTH = 512
RULE = (
    "A collection's name has 1 to 512 characters, is not '.' or '..', and has no slash, backslash or control character."
)


def is_collection_name(name: str) -> bool:
    """Whether this can be a collection's name, in a path of the API too."""
    bad = any(character in "/\\" or unicodedata.category(character) in {"Cc", "Cs"} for character in name)
    return 1 <= len(name) <= MAX_NAME_LENGTH and not bad and name not in {".", ".."}


def printable(name: str) -> str:
    """A name without what a terminal would obey."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name)
