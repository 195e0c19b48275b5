"""Pages of lists that begin at a key: the last costs as little as the first, and rows that come or go move nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from psycopg import sql

Row = TypeVar("Row")
Stored = TypeVar("Stored", bound=Model)

#: Of a bigint.
LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a page begins: after a key in the order of the list, or before it; none of both is the first page."""

    after: int | None = None
    before: int | None = None

    @property
    def key(self) -> int | None:
        return self.after if self.before is None else self.before

    @property
    def is_backwards(self) -> bool:
        """Whether rows are read against the order of the list, from the key on."""
        return self.before is not None


@dataclass(frozen=True, kw_only=True)
class Listed(Generic[Row]):
    """A page, and the keys to ask for those before and after it with; None where there is none."""

    rows: Sequence[Row]
    before: int | None
    after: int | None


def place_from(given: Mapping[str, str]) -> Place:
    """The place that an address's `before` or `after` says; what is no key begins at the first page."""
    before, after = key_from(given.get("before")), key_from(given.get("after"))
    return Place(before=before) if before is not None else Place(after=after)


def key_from(text: str | None) -> int | None:
    """A row's key as text; None for what is none. One that no row can have becomes the largest."""
    if text is None or not text.isascii() or not text.isdecimal():
        return None
    return min(int(text[:20]), LARGEST_KEY)


def page_of(rows: list[Row], *, size: int, place: Place, key: Callable[[Row], int]) -> Listed[Row]:
    """A page of rows in the order in which they were read, of which one more than a page was asked for."""
    is_more = len(rows) > size
    rows = rows[:size]
    if place.is_backwards:
        rows.reverse()
    if not rows:
        return Listed(rows=rows, before=None, after=None)
    has_before = is_more if place.is_backwards else place.after is not None
    has_after = True if place.is_backwards else is_more
    return Listed(rows=rows, before=key(rows[0]) if has_before else None, after=key(rows[-1]) if has_after else None)


def page_in(
    rows: QuerySet[Stored], *, place: Place, size: int, by: str = "id", newest_first: bool = True
) -> Listed[Stored]:
    """A page of these rows in the order of `by`, a column of numbers that are unique among them."""
    descends = newest_first != place.is_backwards
    if place.key is not None:
        rows = rows.filter(**{f"{by}__{'lt' if descends else 'gt'}": place.key})
    found = list(rows.order_by(f"-{by}" if descends else by)[: size + 1])
    return page_of(found, size=size, place=place, key=lambda row: int(getattr(row, by) or 0))


def sql_parts(place: Place, *, key: sql.Composable, newest_first: bool) -> dict[str, sql.Composable]:
    """`key`, `from_key` and `order` of a statement that reads a page; it takes the parameter `key` as well."""
    descends = newest_first != place.is_backwards
    begins: sql.Composable = sql.SQL("TRUE")
    if place.key is not None:
        begins = sql.SQL("{key} < %(key)s" if descends else "{key} > %(key)s").format(key=key)
    order = sql.SQL("{key} DESC" if descends else "{key} ASC").format(key=key)
    return {"key": key, "from_key": begins, "order": order}
