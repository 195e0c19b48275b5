"""Why a search found nothing: how many chunks each of its conditions leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collections_app.models import Collection
from collections_app.reading import count_chunks
from core_app.ports import AskedTerm
from core_app.where import And, Where
from core_app.where.wording import in_words


@dataclass(frozen=True, kw_only=True)
class Survivors:
    """A condition, and how many chunks of the collections meet it, alone and with all before it."""

    condition: str
    #: None where it was not counted.
    alone: int | None
    together: int


def survivors(
    *,
    collections: Sequence[Collection],
    where: Where | None,
    by_words: Sequence[AskedTerm] | None,
    matched: int,
    min_score: float | None,
    above: int,
) -> list[Survivors]:
    """In the order in which a search applies them.

    `by_words` has the terms of a search by words alone, of which `matched` chunks have one; `above` is how many of
    what was found are similar enough.
    """
    total = sum(count_chunks(collection=collection) for collection in collections)
    found = [Survivors(condition="in the collection", alone=total, together=total)]
    enabled = sum(count_chunks(collection=collection, enabled=True) for collection in collections)
    if enabled < total:
        found.append(Survivors(condition="not disabled", alone=enabled, together=enabled))
    held: list[Where] = []
    for part in _parts(where):
        held.append(part)
        found.append(
            Survivors(
                condition=in_words(part),
                alone=sum(count_chunks(collection=collection, where=part) for collection in collections),
                together=sum(count_chunks(collection=c, where=And(tuple(held)), enabled=True) for c in collections),
            )
        )
    if by_words is not None:
        is_known = any(term.chunks for term in by_words)
        found.append(Survivors(condition="a word of the query", alone=None if is_known else 0, together=matched))
    if min_score is not None:
        found.append(Survivors(condition=f"similarity at least {min_score:g}", alone=None, together=above))
    return found


def _parts(where: Where | None) -> Sequence[Where]:
    if where is None:
        return ()
    return where.parts if isinstance(where, And) else (where,)
