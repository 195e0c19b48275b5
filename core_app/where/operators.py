"""The operators of the filter language, in one table.

Parser, evaluator, compiler, JSON schema and the docs page read it. A new operator is a row here, its
meaning in `evaluation.py` and its SQL in `collections_app/where_sql.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from core_app.translating import gettext_noop

#: The name under which conditions on a document's text stand beside those on its metadata.
TEXT_FIELD = "#document"

MAX_DEPTH = 10
MAX_CONDITIONS = 100
MAX_LIST = 1_000
MAX_PATTERN = 500
#: Postgres keeps 32 compiled patterns. With more it compiles each of them anew for every row.
MAX_PATTERNS = 20
MAX_KEY = 512
MAX_STRING = 10_000


class Takes(Enum):
    """What stands behind an operator, in the words of an error: "must be ..."."""

    SCALAR = "a string, a number or a boolean"
    ORDERED = "a number, or an ISO 8601 date such as 2024-05-31 or 2024-05-31T12:00:00Z"
    LIST = "a non-empty list of strings, numbers or booleans"
    TEXT = "a non-empty string"
    PATTERN = "a non-empty string that is a pattern"
    BOOLEAN = "true or false"
    FILTERS = "a non-empty list of filters"
    FILTER = "a non-empty object"


@dataclass(frozen=True)
class Use:
    """What an operator takes and means in one place."""

    takes: Takes
    description: str
    #: A whole filter, as JSON.
    example: str


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One row: what the operator means on metadata, on the text, or joining filters, where it can stand there."""

    name: str
    #: For people who choose from a list, read between a field and a value; in English, marked for translation.
    label: str
    on_metadata: Use | None = None
    on_text: Use | None = None
    on_filters: Use | None = None
    #: The operator whose opposite this is. It holds wherever that one does not, so without the key too.
    negates: str | None = None

    @property
    def matches_missing(self) -> bool:
        """Whether documents without the key match."""
        return self.negates is not None


_ROWS = (
    Operator(
        name="$eq",
        label=gettext_noop("is"),
        on_metadata=Use(
            Takes.SCALAR, "The value is this one. `{key: value}` is short for it.", '{"lang": {"$eq": "en"}}'
        ),
    ),
    Operator(
        name="$ne",
        label=gettext_noop("is not"),
        on_metadata=Use(Takes.SCALAR, "The value is not this one.", '{"lang": {"$ne": "en"}}'),
        negates="$eq",
    ),
    Operator(
        name="$gt",
        label=gettext_noop("is greater than"),
        on_metadata=Use(Takes.ORDERED, "The number is greater, the date is later.", '{"year": {"$gt": 2020}}'),
    ),
    Operator(
        name="$gte",
        label=gettext_noop("is at least"),
        on_metadata=Use(
            Takes.ORDERED,
            "The number is greater or equal, the date is later or the same moment.",
            '{"published": {"$gte": "2024-05-31"}}',
        ),
    ),
    Operator(
        name="$lt",
        label=gettext_noop("is less than"),
        on_metadata=Use(Takes.ORDERED, "The number is smaller, the date is earlier.", '{"price": {"$lt": 9.5}}'),
    ),
    Operator(
        name="$lte",
        label=gettext_noop("is at most"),
        on_metadata=Use(
            Takes.ORDERED,
            "The number is smaller or equal, the date is earlier or the same moment.",
            '{"published": {"$lte": "2024-05-31T12:00:00Z"}}',
        ),
    ),
    Operator(
        name="$in",
        label=gettext_noop("is one of"),
        on_metadata=Use(
            Takes.LIST,
            "The value is one of these, which are all of one type.",
            '{"doc_type": {"$in": ["heading", "paragraph"]}}',
        ),
    ),
    Operator(
        name="$nin",
        label=gettext_noop("is none of"),
        on_metadata=Use(
            Takes.LIST,
            "The value is none of these, which are all of one type.",
            '{"doc_type": {"$nin": ["code", "list"]}}',
        ),
        negates="$in",
    ),
    Operator(
        name="$exists",
        label=gettext_noop("exists"),
        on_metadata=Use(
            Takes.BOOLEAN,
            "With `true`: the document has the key, be its value null. With `false`: it has not.",
            '{"reviewed_by": {"$exists": true}}',
        ),
    ),
    Operator(
        name="$contains",
        label=gettext_noop("contains"),
        on_metadata=Use(Takes.SCALAR, "The value is a list and holds this one.", '{"tags": {"$contains": "draft"}}'),
        on_text=Use(Takes.TEXT, "The text holds this; case matters.", '{"#document": {"$contains": "income tax"}}'),
    ),
    Operator(
        name="$not_contains",
        label=gettext_noop("does not contain"),
        on_metadata=Use(
            Takes.SCALAR, "The value is no list that holds this one.", '{"tags": {"$not_contains": "draft"}}'
        ),
        on_text=Use(
            Takes.TEXT, "The text does not hold this; case matters.", '{"#document": {"$not_contains": "lorem ipsum"}}'
        ),
        negates="$contains",
    ),
    Operator(
        name="$regex",
        label=gettext_noop("matches the pattern"),
        on_metadata=Use(
            Takes.PATTERN,
            "The value is a string, and the pattern is found in it.",
            '{"source": {"$regex": "^reports/.*\\\\.pdf$"}}',
        ),
        on_text=Use(
            Takes.PATTERN, "The pattern is found in the text.", '{"#document": {"$regex": "(?i)error \\\\d+"}}'
        ),
    ),
    Operator(
        name="$not_regex",
        label=gettext_noop("does not match the pattern"),
        on_metadata=Use(
            Takes.PATTERN,
            "The value is no string that the pattern is found in.",
            '{"source": {"$not_regex": "^drafts/"}}',
        ),
        on_text=Use(
            Takes.PATTERN, "The pattern is not found in the text.", '{"#document": {"$not_regex": "^Draft\\\\b"}}'
        ),
        negates="$regex",
    ),
    Operator(
        name="$and",
        label=gettext_noop("all of"),
        on_filters=Use(
            Takes.FILTERS,
            "All these filters match.",
            '{"$and": [{"lang": "en"}, {"#document": {"$contains": "tax"}}]}',
        ),
    ),
    Operator(
        name="$or",
        label=gettext_noop("any of"),
        on_filters=Use(
            Takes.FILTERS, "At least one of these filters matches.", '{"$or": [{"chapter": "1"}, {"chapter": "3"}]}'
        ),
    ),
    Operator(
        name="$not",
        label=gettext_noop("not"),
        on_filters=Use(
            Takes.FILTER,
            "This filter does not match. Behind a key: these operators do not match.",
            '{"$not": {"lang": "en", "year": {"$lt": 2020}}}',
        ),
    ),
)

OPERATORS = {row.name: row for row in _ROWS}
#: The one that turns round what it holds, before a key and behind one.
NOT = "$not"
