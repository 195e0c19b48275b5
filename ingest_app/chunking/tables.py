"""Where a document's text goes row by row: Markdown tables, and the rows of sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest_app.parsing.document import ParsedDocument

_TABLE = re.compile(
    r"^(?P<head>\|[^\n]*\n\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n)(?:\|[^\n]*(?:\n|\Z))+", re.M
)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A stretch that is cut between its lines only. Its header goes from `start` up to `body`; it may be empty."""

    start: int
    body: int
    end: int


def tables(document: ParsedDocument) -> list[Lines]:
    """All of a document, in the order of its text. Offsets are in characters of `document.text`."""
    found = list(_markdown_tables(document.text)) if document.is_markdown else []
    starts = {table.body for table in found}
    found += [
        Lines(start=rows.start, body=rows.start, end=rows.end) for rows in document.rows if rows.start not in starts
    ]
    return sorted(found, key=lambda table: table.start)


def _markdown_tables(text: str) -> Iterator[Lines]:
    for match in _TABLE.finditer(text):
        yield Lines(start=match.start(), body=match.end("head"), end=match.end())
