"""Names: what may name a collection, one rule for every door, and how any name is shown to people."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_LENGTH = 512
RULE = (
    "A collection's name has 1 to 512 characters, is not '.' or '..', and has no slash, backslash or control character."
)
NEW_RULE = f"{RULE} A new one has no white space at its beginning or end, either."


def is_collection_name(name: str) -> bool:
    """Whether this can be a collection's name, in a path of the API too."""
    bad = any(character in "/\\" or unicodedata.category(character) in {"Cc", "Cs"} for character in name)
    return 1 <= len(name) <= MAX_NAME_LENGTH and not bad and name not in {".", ".."}


def is_new_name(name: str) -> bool:
    """Whether something may be named so from now on; older collections may have white space around their names."""
    return is_collection_name(name) and name == name.strip()


# Characters that change the order in which others are drawn.
_REORDERING = "\u202a-\u202e\u2066-\u2069"
# Others that are drawn as nothing. Variation selectors are not among them: those choose how a letter is drawn.
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028\u2029"
    "\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
)
# Joiners belong into scripts that need them, from Arabic to Mongolian, and into emoji; elsewhere they hide.
_JOINED = "\u0600-\u18af\ufb50-\ufdff\ufe70-\ufefc\ufe0f\u2190-\u2bff\U0001f000-\U0001faff"
_INVISIBLE = re.compile(f"[{_REORDERING}{_HIDDEN}]|(?<![{_JOINED}])[\u200c\u200d]")
_DISORDER = re.compile(f"[{_REORDERING}]")


def visible(name: str) -> str:
    """A name with marks such as `[U+202E]` for characters that nobody sees, or that have it read otherwise."""
    return _INVISIBLE.sub(_mark, name)


def readable(text: str) -> str:
    """A longer text with such marks for those alone that change the order of what stands in it."""
    return _DISORDER.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    return f"[U+{ord(found[0]):04X}]"


def printable(name: str) -> str:
    """A name without what a terminal would obey."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name)
