"""Names of collections and patterns of them: one meaning for keys and for people, in Python and in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db.models import CharField, Lookup, Q, TextField

from access_app.models import MAX_PATTERN_LENGTH
from core_app.errors import InvalidInput

if TYPE_CHECKING:
    _Lookup = Lookup[Any]
else:
    _Lookup = Lookup

#: Stands for the collection of what belongs to the whole server: no name of a collection, so only `*` reaches it.
WHOLE_SERVER = ""


def reaches(patterns: Iterable[str], name: str) -> bool:
    """Whether one of the patterns fits: `*` stands for any run of characters, nothing else does.

    `name` may be a pattern itself. Then the answer is whether everything that it fits is reached: an asterisk is
    fitted by an asterisk alone.
    """
    return any(_expression(pattern).fullmatch(name) for pattern in patterns)


def is_everything(patterns: Iterable[str]) -> bool:
    """Whether one of them fits all there is, the whole server included."""
    return any(pattern and not pattern.strip("*") for pattern in patterns)


def named(field: str, patterns: Sequence[str]) -> Q:
    """The condition that the text in `field` (as Django's lookups name it) is reached, for Postgres to decide."""
    if is_everything(patterns):
        return Q()
    condition = Q(pk__in=())
    for pattern in sorted(set(patterns)):
        condition |= Q(**{f"{field}__like": _like(pattern)}) if "*" in pattern else Q(**{field: pattern})
    return condition


def check_patterns(patterns: Sequence[str]) -> list[str]:
    """The patterns, each once. Raises InvalidInput for one that can fit nothing."""
    if any(not pattern or len(pattern) > MAX_PATTERN_LENGTH or "\x00" in pattern for pattern in patterns):
        raise InvalidInput(
            f"Write names or patterns of 1 to {MAX_PATTERN_LENGTH} characters; '*' means all.", code="invalid_scope"
        )
    return list(dict.fromkeys(patterns))


def in_words(patterns: Sequence[str]) -> str:
    """Patterns for people."""
    return "all collections" if is_everything(patterns) else ", ".join(patterns) or "no collection"


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern as an expression; atomic groups keep many stars from taking more than linear time each."""
    head, *rest = pattern.split("*")
    if not rest:
        return re.compile(re.escape(head))
    middle = "".join(f"(?>.*?{re.escape(part)})" for part in rest[:-1] if part)
    return re.compile(f"{re.escape(head)}{middle}.*{re.escape(rest[-1])}", re.DOTALL)


def _like(pattern: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%")


class Like(_Lookup):
    """SQL's LIKE, with a pattern that is escaped already."""

    lookup_name = "like"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"{left} LIKE {right}", (*left_params, *right_params)


TextField.register_lookup(Like)
CharField.register_lookup(Like)
