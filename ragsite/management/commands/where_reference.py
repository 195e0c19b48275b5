"""`manage.py where_reference`: the page of the docs about filters, written from the table of operators."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core_app.where.operators import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_KEY,
    MAX_LIST,
    MAX_PATTERN,
    MAX_PATTERNS,
    MAX_STRING,
    OPERATORS,
    Operator,
    Use,
)
from core_app.where.patterns import MAX_GROUPS_DEPTH, MAX_PIECES, MAX_REPEAT

HEADER = """# Filters

<!-- Written by `manage.py where_reference` from core_app/where/operators.py; edit that, then run it again. -->

A filter is a JSON object, called `where` wherever one is taken. It chooses documents by their metadata and their text,
and can only narrow what a call would return.

```json
{"doc_type": {"$in": ["heading", "paragraph"]}, "year": {"$gte": 2020, "$lt": 2024}}
```

- A key of the metadata stands before a value to be equal to, or before an object of operators.
- Several keys in one object must all hold, and so must several operators behind one key.
- `#document` stands for the text.
- A key is taken as it is: a dot in it has no meaning. Keys that start with `$`, and a key called `#document`, cannot
  be asked for.
- `{}` is a filter that everything passes. It lists everything; it never deletes.

In a query string the filter is its JSON, percent-encoded. A filter can be [kept by a name](filters.md) and called
by it, and the console builds filters from a collection's own fields.
"""

RULES = """## Values

- Types are never converted: `1` is not `"1"`, and `true` is not `1`.
- Integers and fractions are both numbers: `1` equals `1.0`. They are compared as they are written in decimal.
- Strings are compared character by character; case matters.
- A single value is never equal to a list, and never contains anything. `$contains` asks a list for one of its values.
- `null` cannot be compared with. A key whose value is `null` exists and is equal to nothing.

## Documents without the key

{missing} match documents that do not have the key, too.
Add `"$exists": true` to leave those out: `{{"lang": {{"$ne": "en", "$exists": true}}}}`.

A condition holds or does not hold, there is no third. So `{{"$not": {{"lang": "en"}}}}` matches documents without
`lang` as well.

## Dates

`$gt`, `$gte`, `$lt` and `$lte` take a date in ISO 8601 as a string: `2024-05-31`, `2024-05-31T12:00`,
`2024-05-31T12:00:00Z`, `2024-05-31 12:00:00.250+02:00`. Then only values that are such strings match, and both are
compared as moments: without an offset they are in UTC, and a date is its midnight. Seconds have at most 6 decimals,
offsets reach up to 14:59, years from 0001 to 9999. To all other operators dates are plain strings.

## Patterns

`$regex` finds its pattern anywhere; `^` and `$` stand for the start and the end of the whole text. What is written
here means the same in every store:

| written | matches |
|---|---|
| `.` | Any character, a line break too. |
| `[abc]`, `[a-z]`, `[^abc]` | One of these characters, or one that is none of them. |
| `(ab)`, `(?:ab)` | A group. Nothing is captured. |
| `a\\|b` | The one or the other. |
| `*`, `+`, `?`, `{{3}}`, `{{3,}}`, `{{3,5}}` | Repeats of what stands before, counted up to {repeat}. |
| `\\d`, `\\w`, `\\s` | A digit, a letter of ASCII or digit or `_`, a blank; `\\D`, `\\W`, `\\S` anything else. |
| `\\b`, `\\B` | The edge of a word of such letters; anywhere else. |
| `\\n`, `\\t`, `\\r` | Line feed, tab, carriage return. |
| `\\.` | A punctuation mark as such; inside `[ ]` too. |
| `(?i)` | At the very start: upper and lower case are the same, in all scripts. |

A `?` behind a repeat is allowed and changes nothing. Look-around, references back to groups, named groups and classes
such as `[:alpha:]` are refused. Groups may be nested {groups} deep, and a pattern may have {pieces} characters with its
counted repeats written out. A pattern that costs too much time is stopped with the code `too_expensive`.
"""


class Command(BaseCommand):
    help = "Write docs/where.md from the table of operators; --check only compares."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail when the page is out of date")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "where.md"
        page = render()
        if not check:
            path.write_text(page, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != page:
            raise CommandError("docs/where.md is out of date: run manage.py where_reference.")


def render() -> str:
    """The whole page as Markdown."""
    rows = OPERATORS.values()
    missing = _listed(f"`{row.name}`" for row in rows if row.matches_missing)
    return "\n".join(
        [
            HEADER,
            *_table("Conditions on metadata", ((row, row.on_metadata) for row in rows)),
            *_table("Conditions on the text", ((row, row.on_text) for row in rows)),
            *_table("Joining filters", ((row, row.on_filters) for row in rows)),
            RULES.format(missing=missing, repeat=MAX_REPEAT, groups=MAX_GROUPS_DEPTH, pieces=MAX_PIECES),
            *_bounds(),
        ]
    )


def _table(title: str, rows: Iterable[tuple[Operator, Use | None]]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| operator | reads | takes | matches when | example |"
    yield "|---|---|---|---|---|"
    for row, use in rows:
        if use:
            yield f"| `{row.name}` | {row.label} | {use.takes.value} | {use.description} | `{use.example}` |"
    yield ""


def _bounds() -> Iterator[str]:
    yield "## Bounds\n"
    yield "Beyond these a filter is refused with the code `invalid_where` and a sentence that starts with the place of"
    yield "the mistake: `$.doc_type.$in: must be a non-empty list of strings, numbers or booleans`.\n"
    yield "| what | at most |"
    yield "|---|---|"
    yield f"| levels of filters within filters | {MAX_DEPTH} |"
    yield f"| conditions in a filter | {MAX_CONDITIONS} |"
    yield f"| values in a list | {MAX_LIST:,} |"
    yield f"| characters of a string | {MAX_STRING:,} |"
    yield f"| characters of a pattern | {MAX_PATTERN} |"
    yield f"| patterns in a filter | {MAX_PATTERNS} |"
    yield f"| characters of a key | {MAX_KEY} |"
    yield ""


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}"
