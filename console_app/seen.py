"""Two people with one page open: whoever saves second is told, instead of undoing what the first has saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

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
