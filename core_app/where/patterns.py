"""Patterns of `$regex`: a subset of regular expressions that means the same to Python and to Postgres.

One scan checks a pattern and writes it anew for both. Sets of characters become ranges of code points and
`(?i)` becomes sets of characters, so that neither engine's idea of letters and case, nor the collation of
a database, decides what matches. Whether something matches does not depend on what is captured, nor on
greed: groups are written without capture and lazy quantifiers as plain ones.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core_app.where.characters import Ranges, is_shorthand, other_cases, set_of, shorthand

MAX_REPEAT = 255
MAX_GROUPS_DEPTH = 20
#: Characters, sets and anchors, with counted repeats written out: Postgres compiles that many in about a second.
MAX_PIECES = 600

_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_PUNCTUATION = frozenset(string.punctuation + " ")
#: How each engine writes what stands here as the user writes it. Python's \B does not match an empty text.
_PLACES = {"^": ("^", "^"), "$": (r"\Z", "$"), r"\b": (r"\b", r"\y"), r"\B": (r"(?!\b)", r"\Y")}
_BOUND = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}", re.ASCII)


class InvalidPattern(ValueError):
    """The pattern is not one of the subset; the text says how, to be read after a place."""


@dataclass(frozen=True)
class Translation:
    """One pattern in both dialects."""

    python: str
    postgres: str

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Searches as Postgres does, where `search` finds anything."""
        return re.compile(self.python, re.DOTALL | re.ASCII)


@lru_cache(maxsize=256)
def translate(pattern: str) -> Translation:
    """The pattern for both engines. Raises InvalidPattern."""
    ignore_case = pattern.startswith("(?i)")
    scan = _Scan(pattern, position=4 if ignore_case else 0, ignore_case=ignore_case)
    scan.run()
    return Translation(python="".join(scan.python), postgres="".join(scan.postgres))


class _Scan:
    """One pass over a pattern, from left to right."""

    def __init__(self, pattern: str, *, position: int, ignore_case: bool) -> None:
        self.pattern = pattern
        self.position = position
        self.ignore_case = ignore_case
        self.python: list[str] = []
        self.postgres: list[str] = []
        #: Pieces so far, repeats written out: of the whole, and of each group that is open.
        self.pieces = [0]
        #: Those of the last character, set or group.
        self.last_pieces = 0
        #: Whether that can be repeated.
        self.repeatable = False

    def run(self) -> None:
        while self.position < len(self.pattern):
            self._piece(self._next())
        if len(self.pieces) > 1:
            raise InvalidPattern("a ( is not closed; write \\( for the character")

    def _next(self) -> str:
        if self.position >= len(self.pattern):
            raise InvalidPattern("it ends too early; close every [ and write \\\\ for a backslash")
        self.position += 1
        return self.pattern[self.position - 1]

    def _ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def _write(self, python: str, postgres: str | None = None, *, pieces: int = 1, repeatable: bool = True) -> None:
        self.python.append(python)
        self.postgres.append(python if postgres is None else postgres)
        self.repeatable = repeatable
        self.last_pieces = pieces
        self.pieces[-1] += pieces
        if self.pieces[-1] > MAX_PIECES:
            raise InvalidPattern(f"it must not be longer than {MAX_PIECES} characters with its repeats written out")

    def _piece(self, character: str) -> None:
        if character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character in "*+?{":
            self._repeat(character)
        elif character == "[":
            self._write(self._set())
        elif character == "\\":
            self._escape(self._next())
        elif character in _PLACES:
            self._write(*_PLACES[character], repeatable=False)
        elif character == "|":
            self._write("|", pieces=0, repeatable=False)
        elif character == ".":
            self._write(".")
        else:
            self._literal(character)

    def _literal(self, character: str) -> None:
        self._write(set_of(self._with_case(ord(character), ord(character))))

    def _open(self) -> None:
        if self._ahead("?:"):
            self.position += 2
        elif self._ahead("?"):
            raise InvalidPattern("after (? only : is known, and (?i) at the very start; there is no look-around")
        self._write("(?:", pieces=0, repeatable=False)
        self.pieces.append(0)
        if len(self.pieces) > MAX_GROUPS_DEPTH + 1:
            raise InvalidPattern(f"groups must not be nested more than {MAX_GROUPS_DEPTH} deep")

    def _close(self) -> None:
        if len(self.pieces) == 1:
            raise InvalidPattern("a ) closes nothing; write \\) for the character")
        self._write(")", pieces=self.pieces.pop())

    def _repeat(self, sign: str) -> None:
        quantifier, times = self._bound() if sign == "{" else (sign, 1)
        if not self.repeatable:
            raise InvalidPattern(f"there is nothing that {quantifier} could repeat; write \\{sign} for the sign")
        if self._ahead("?"):
            self.position += 1
        self._write(quantifier, pieces=self.last_pieces * (times - 1), repeatable=False)

    def _bound(self) -> tuple[str, int]:
        """The quantifier whose { was just read, and how often it writes out what it repeats."""
        found = _BOUND.match(self.pattern, self.position - 1)
        if found is None:
            raise InvalidPattern("a { must start {3}, {3,} or {3,5}; write \\{ for the sign")
        least, most = int(found[1]), int(found[3] or found[1])
        if most > MAX_REPEAT or least > most:
            raise InvalidPattern(f"{found[0]} must count upwards and at most to {MAX_REPEAT}")
        self.position = found.end()
        return found[0], max(most, 1)

    def _escape(self, character: str) -> None:
        if "\\" + character in _PLACES:
            self._write(*_PLACES["\\" + character], repeatable=False)
        elif is_shorthand(character):
            self._write(set_of(shorthand(character)))
        else:
            self._literal(_escaped(character))

    def _set(self) -> str:
        """The set whose [ was just read."""
        negated = self._ahead("^")
        self.position += negated
        start = self.position
        ranges: Ranges = []
        while not self._ahead("]"):
            if self._ahead("-") and self.position > start and self.pattern[self.position + 1 :][:1] != "]":
                raise InvalidPattern("inside [ ] write \\- for a dash between others")
            ranges += self._set_item()
        if not ranges:
            raise InvalidPattern("a [ ] must not be empty; write \\] for the character in it")
        self.position += 1
        return set_of(ranges, negated=negated)

    def _set_item(self) -> Ranges:
        first = self._member()
        if isinstance(first, list):
            return first
        if not self._ahead("-") or self.pattern[self.position + 1 :][:1] == "]":
            return self._with_case(first, first)
        self.position += 1
        last = self._member()
        if isinstance(last, list) or last < first:
            raise InvalidPattern("a range inside [ ] must go from a character to one that is not before it")
        return self._with_case(first, last)

    def _member(self) -> int | Ranges:
        """A character's code point, or the ranges of a shorthand."""
        character = self._next()
        if character == "[":
            raise InvalidPattern("inside [ ] write \\[ for the character; classes such as [:alpha:] are not known")
        if character != "\\":
            return ord(character)
        character = self._next()
        return shorthand(character) if is_shorthand(character) else ord(_escaped(character))

    def _with_case(self, first: int, last: int) -> Ranges:
        return [(first, last), *(other_cases(first, last) if self.ignore_case else ())]


def _escaped(character: str) -> str:
    if character in _CONTROLS:
        return _CONTROLS[character]
    if character not in _PUNCTUATION:
        raise InvalidPattern(
            "a backslash is known before punctuation and d w s D W S b B n t r, and b B only outside [ ]"
        )
    return character
