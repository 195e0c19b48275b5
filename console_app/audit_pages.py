"""The audit log for people: one keyset page of it, each entry with what was there before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q, QuerySet

from access_app.audit import key_of
from access_app.audit_words import words_for
from access_app.models import AuditEntry
from console_app.differences import compared

PER_PAGE = 25
#: Of a text that both sides have, beside each difference.
CONTEXT_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class Change:
    """One value before and after in pieces: `("old", "duck")`, `("new", "goose")`, and shortened what is the `same`."""

    key: str
    pieces: Sequence[tuple[str, str]]

    @property
    def is_whole(self) -> bool:
        """Whether the one stands in the place of the other, with nothing in common."""
        return [kind for kind, _ in self.pieces] == ["old", "new"]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An entry, ready to be shown."""

    entry: AuditEntry
    words: str
    changes: Sequence[Change]
    #: As the log's filter takes it.
    about: str


def history_page(row: Model, *, before: str | None) -> dict[str, Any]:
    """The context of a row's history."""
    about = AuditEntry.objects.filter(object_type=row._meta.label_lower, object_id=key_of(row))
    return keyset_page(about, before=before)


def keyset_page(entries: QuerySet[AuditEntry], *, before: str | None) -> dict[str, Any]:
    """The newest entries, or those older than the one with the key `before`, and the key to go on from."""
    entries = entries.order_by("-at", "-id")
    last = AuditEntry.objects.filter(pk=int(before or 0)).first() if _is_key(before) else None
    if last is not None:
        # The first condition is what the index is entered by.
        entries = entries.filter(Q(at__lte=last.at), Q(at__lt=last.at) | Q(pk__lt=last.pk))
    found = list(entries[: PER_PAGE + 1])
    shown = [shown_entry(entry) for entry in found[:PER_PAGE]]
    return {"entries": shown, "older": found[PER_PAGE - 1].pk if len(found) > PER_PAGE else None, "paged": last}


def _is_key(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdecimal() and len(text) < 19


def shown_entry(entry: AuditEntry) -> Shown:
    """An entry in words."""
    return Shown(
        entry=entry,
        words=words_for(entry.action),
        changes=changes(entry.before, entry.after),
        about=f"{entry.object_type}:{entry.object_id}",
    )


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Change]:
    """What changed, value by value; values within values by their path."""
    old, new = _flat(before or {}), _flat(after or {})
    # Of what was made, or is gone, what was empty is of no interest.
    shown = [key for key in {**old, **new} if old.get(key) or new.get(key)]
    return [_change(key, old.get(key), new.get(key)) for key in shown]


def _change(key: str, old: str | None, new: str | None) -> Change:
    pieces = None if old is None or new is None else compared(old, new)
    if pieces is None:
        pieces = [(kind, text) for kind, text in (("old", old), ("new", new)) if text]
    last = len(pieces) - 1
    return Change(
        key=key,
        pieces=[
            (kind, _shortened(text, first=at == 0, last=at == last) if kind == "same" else text)
            for at, (kind, text) in enumerate(pieces)
        ],
    )


def _shortened(text: str, *, first: bool, last: bool) -> str:
    """Of what both texts have, that which stands beside a difference."""
    if len(text) <= CONTEXT_CHARACTERS * (1 if first or last else 2):
        return text
    before = "" if first else text[:CONTEXT_CHARACTERS]
    after = "" if last else text[-CONTEXT_CHARACTERS:]
    return f"{before} … {after}"


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        name = f"{path} > {key}" if path else key
        if isinstance(value, Mapping) and value:
            found |= _flat(value, name)
        else:
            found[name] = _readable(value)
    return found


def _readable(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
