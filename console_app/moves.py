"""What moved between two orders of passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

Kind = Literal["up", "down", "same", "new", "gone"]
Key = TypeVar("Key", bound=Hashable)

#: In words beside them: neither the sign nor the colour alone says it.
SIGNS: Mapping[Kind, str] = {"up": "↑", "down": "↓", "same": "=", "new": "+", "gone": "\N{MULTIPLICATION SIGN}"}


@dataclass(frozen=True, kw_only=True)
class Move:
    """Where a passage is in one order, seen from the other."""

    kind: Kind
    #: Places between both.
    by: int = 0
    #: Its place in the other order.
    other: int | None = None

    @property
    def sign(self) -> str:
        return f"{SIGNS[self.kind]}{self.by}" if self.by else SIGNS[self.kind]

    @property
    def words(self) -> str:
        """The same to be read."""
        place = {"by": self.by, "other": self.other}
        match self.kind:
            case "up":
                return _("up %(by)s, was %(other)s") % place
            case "down":
                return _("down %(by)s, was %(other)s") % place
            case "same":
                return _("same place")
            case "new":
                return _("new here")
        return _("gone")


def moves(before: Sequence[Key], after: Sequence[Key]) -> dict[Key, Move]:
    """Of each passage of either order how it got from the first to the second; places count from 1."""
    first = {key: place for place, key in reversed([*enumerate(before, start=1)])}
    second = {key: place for place, key in reversed([*enumerate(after, start=1)])}
    found: dict[Key, Move] = {}
    for key, place in second.items():
        was = first.get(key)
        if was is None:
            found[key] = Move(kind="new")
        elif was == place:
            found[key] = Move(kind="same", other=was)
        else:
            found[key] = Move(kind="up" if place < was else "down", by=abs(place - was), other=was)
    for key, was in first.items():
        if key not in second:
            found[key] = Move(kind="gone", other=was)
    return found


def in_short(found: Mapping[Key, Move]) -> str:
    """How many moved in which way."""
    counts = Counter(move.kind for move in found.values())
    said = [
        ngettext("%(count)s up", "%(count)s up", counts["up"]),
        ngettext("%(count)s down", "%(count)s down", counts["down"]),
        ngettext("%(count)s new", "%(count)s new", counts["new"]),
        ngettext("%(count)s gone", "%(count)s gone", counts["gone"]),
        ngettext("%(count)s in the same place", "%(count)s in the same place", counts["same"]),
    ]
    kinds: tuple[Kind, ...] = ("up", "down", "new", "gone", "same")
    return ", ".join(text % {"count": counts[kind]} for text, kind in zip(said, kinds, strict=True) if counts[kind])
