"""ISO 8601 dates in filters, as instants. One grammar for Python and Postgres."""

from __future__ import annotations

import re
from datetime import UTC, datetime

#: A date, or a date and a time with or without an offset. Written so that Postgres reads it alike. Whether
#: the day exists is another question, and so is the year 0000.
ISO_DATE = (
    r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?)?$"
)
_ISO_DATE = re.compile(ISO_DATE.removesuffix("$"), re.ASCII)


def instant(value: object) -> datetime | None:
    """The moment that an ISO date names, with its offset; None for what is no ISO date.

    A date is its midnight; without an offset a time is in UTC.
    """
    if not isinstance(value, str) or not _ISO_DATE.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
