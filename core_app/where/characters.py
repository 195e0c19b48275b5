"""Sets of characters as ranges of code points, so that no engine and no collation decides what is in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

#: First and last code point, both within.
Ranges = list[tuple[int, int]]

_LAST = 0x10FFFF
#: Above this there are no letters with case.
_LAST_CASED = 0x1FFFF
_SHORTHANDS: Mapping[str, Ranges] = {
    "d": [(48, 57)],
    "s": [(9, 13), (32, 32)],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122)],
}


def is_shorthand(letter: str) -> bool:
    """Whether a backslash before this letter names a set."""
    return letter.lower() in _SHORTHANDS


def shorthand(letter: str) -> Ranges:
    """What `\\d`, `\\w` or `\\s` holds, all of it ASCII, or what the same in upper case does: everything else."""
    ranges = _SHORTHANDS[letter.lower()]
    if letter.islower():
        return list(ranges)
    edges = [-1, *(edge for pair in ranges for edge in pair), _LAST + 1]
    return [(before + 1, after - 1) for before, after in zip(edges[::2], edges[1::2], strict=True)]


def other_cases(first: int, last: int) -> Ranges:
    """The characters that differ from one in this range by their case alone, one by one."""
    cased = _cased()
    within = [first] if first == last else [code for code in cased if first <= code <= last]
    return [(other, other) for other in {other for code in within for other in cased.get(code, ())}]


def set_of(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    """A set of characters, at least one, as both engines write it."""
    merged: Ranges = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    if len(merged) == 1 and merged[0][0] == merged[0][1] and not negated:
        return _code(merged[0][0])
    inside = (_code(first) if first == last else f"{_code(first)}-{_code(last)}" for first, last in merged)
    return f"[{'^' * negated}{''.join(inside)}]"


def _code(code: int) -> str:
    """One character so that neither engine sees a sign in it."""
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@cache
def _cased() -> Mapping[int, Sequence[int]]:
    """Each character that has others of another case, with all of them: those whose case folding is the same."""
    groups: dict[str, set[int]] = defaultdict(set)
    for code in range(_LAST_CASED + 1):
        folded = chr(code).casefold()
        if folded != chr(code):
            groups[folded] |= {code, ord(folded)} if len(folded) == 1 else {code}
    return {code: sorted(group) for group in groups.values() for code in group if len(group) > 1}
