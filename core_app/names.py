"""What may name a collection: one rule for the settings, the services and every door."""

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
