"""What differs between two texts, word by word."""

from __future__ import annotations

import difflib
import re

#: Words of texts that are compared word by word; of longer ones the lengths are said.
MOST_COMPARED_WORDS = 4000
#: Texts that have less in common are shown one after the other.
LEAST_IN_COMMON = 0.3


def compared(before: str, after: str) -> list[tuple[str, str]] | None:
    """Pieces of two texts: `same`, `old` and `new` ones. None where they are too long to be compared."""
    # Each word with the space behind it: spaces alone would be found the same everywhere.
    old, new = re.findall(r"\S+\s*|\s+", before), re.findall(r"\S+\s*|\s+", after)
    if max(len(old), len(new)) > MOST_COMPARED_WORDS:
        return None
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=True)
    if matcher.ratio() < LEAST_IN_COMMON:
        return [("old", before), ("new", after)]
    pieces: list[tuple[str, str]] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(("same", "".join(old[a:b])))
            continue
        pieces += [("old", "".join(old[a:b]))] if b > a else []
        pieces += [("new", "".join(new[c:d]))] if d > c else []
    return pieces
