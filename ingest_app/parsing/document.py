"""What every parser returns: one text and the places in it that people cite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
class ParsedDocument:
    """Everything extracted from one file. All offsets are in characters of `text`.

    `text` holds no NUL and no lone surrogate and ends its lines with "\\n". `title` is never empty.
    `pages` is empty where the source has no pages. Headings and pages are in the order of the text.
    """

    text: str
    media_type: str
    title: str
    headings: tuple[Heading, ...] = ()
    pages: tuple[PageStart, ...] = ()


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
