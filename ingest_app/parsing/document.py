"""What every parser returns: one text and the places in it that people cite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ingest_app.parsing.errors import UnableToParse

MAX_CHARACTERS = 20_000_000
MAX_TITLE = 200


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading line. `offset` is where the line starts in the document's text; level 1 is the highest."""

    offset: int
    level: int
    text: str


@dataclass(frozen=True, kw_only=True)
class PageStart:
    """Where a page starts in the document's text. `number` counts from 1."""

    offset: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Lines of the document's text, from `start` up to `end`, that are rows of a table in a file.

    The line at `start` is row `first` of the sheet, the next line row `first` + 1; rows count from 1 as
    spreadsheets do. `sheet` is empty where a file is one table, such as CSV.
    """

    start: int
    end: int
    first: int
    sheet: str = ""


@dataclass(frozen=True, kw_only=True)
class ParsedDocument:
    """Everything extracted from one file. All offsets are in characters of `text`.

    `text` holds no NUL and no lone surrogate and ends its lines with "\\n". `title` is never empty.
    `pages` is empty where the source has no pages; a slide is a page. `is_markdown` says that structure
    stands in the text as Markdown. Headings, pages and rows are in the order of the text. `properties`
    are facts about the whole source that people filter by, such as the sender of a mail.
    """

    text: str
    media_type: str
    title: str
    is_markdown: bool = False
    headings: tuple[Heading, ...] = ()
    pages: tuple[PageStart, ...] = ()
    rows: tuple[Rows, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def as_fields(document: ParsedDocument) -> dict[str, Any]:
    """The document as plain data, ready for JSON."""
    return asdict(document)


def from_fields(fields: Mapping[str, Any]) -> ParsedDocument:
    """The document that `as_fields` was given. Raises KeyError or TypeError for anything else."""
    return ParsedDocument(
        text=str(fields["text"]),
        media_type=str(fields["media_type"]),
        title=str(fields["title"]),
        is_markdown=bool(fields["is_markdown"]),
        headings=tuple(Heading(**heading) for heading in fields["headings"]),
        pages=tuple(PageStart(**page) for page in fields["pages"]),
        rows=tuple(Rows(**rows) for rows in fields["rows"]),
        properties={str(key): str(value) for key, value in fields["properties"].items()},
    )


def stem(name: str) -> str:
    """The file name without folders and extension, the title of last resort."""
    last = re.split(r"[/\\]", name)[-1].strip()
    return one_line(last.rpartition(".")[0] or last) or "untitled"


def one_line(text: str) -> str:
    """A heading or title on one line, cut where it stops being one."""
    line = " ".join(text.encode("utf-8", "ignore").decode("utf-8").replace("\0", "").split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def check_extent(text: str) -> str:
    """The text itself, when it holds something to read and not too much of it."""
    if not any(character.isprintable() and not character.isspace() for character in text):
        raise UnableToParse("The file is empty: it holds no text to index.", "empty_file")
    if len(text) > MAX_CHARACTERS:
        raise UnableToParse(
            f"The file holds more than {MAX_CHARACTERS:,} characters: split it and upload the parts.",
            "too_large",
        )
    return text


def title_from(*, candidates: Sequence[str | None], name: str) -> str:
    """The first candidate that says something, else the file's stem."""
    return next((line for line in map(one_line, (c or "" for c in candidates)) if line), stem(name))
