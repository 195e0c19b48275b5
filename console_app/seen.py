"""Two people with one page open: whoever saves second is told, instead of undoing what the first has saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from core_app.errors import Conflict

FIELD = "seen"
STALE = _(
    "This was changed meanwhile, and nothing was saved. Copy what you wrote, open the page again to see what is there "
    "now, and make your change to that."
)


def mark(value: Any) -> str:
    """The same as long as the value is, for a hidden field of the form that changes it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]


def is_stale(data: Mapping[str, Any], value: Any) -> bool:
    """Whether the form was made for another value than this."""
    return FIELD in data and data[FIELD] != mark(value)


@contextmanager
def while_as_seen(data: Mapping[str, Any], now: Callable[[], Any]) -> Iterator[None]:
    """A transaction in which what the form was made for is still so, and stays so until it ends.

    `now` locks it and says what it is. Raises Conflict where that is something else than the form was made for.
    """
    with transaction.atomic():
        if is_stale(data, now()):
            raise Conflict(str(STALE), code="changed_meanwhile")
        yield
