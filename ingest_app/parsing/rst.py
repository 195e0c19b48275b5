"""reStructuredText: the text stays as written, its section titles are found by their lines.

They are read here and not by docutils, which needs minutes for a manual and gives no place of a title in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import Heading, ParsedDocument, check_extent, one_line, title_from
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import RST

_LINE = re.compile(r"[^\n]*\n?")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*")
#: An adornment of fewer characters counts only where it is as long as its title.
_SHORT = 4
#: Far more than a heading shows.
_LONGEST = 2000
#: What starts another kind of block, which no underline turns into a title.
_OTHER_BLOCK = re.compile(
    r"[-+*\u2022\u2023\u2043](?:\s|$)|(?:\.\.|__|>>>|\||:[^:\s][^:]{0,80}:)(?:\s|$)|\+-[-+]+\+$|=+ +=[ =]*$"
)
_ROLE = re.compile(r":[\w.+:-]{1,80}:(?=`)")
_TARGET = re.compile(r"`([^`<>]{1,500}?)\s*<[^<>`]{1,2000}>`_{0,2}")
_MARKUP = re.compile(r"(?<!\\)(?:``|\*\*|(?<!\w)[*`|]|[*`|](?!\w)|(?<=[`\w])_{1,2}(?!\w))")
_ESCAPE = re.compile(r"\\(\S)")


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from reStructuredText in any encoding. The title: the first section's."""
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    check_extent(text)
    headings = tuple(_headings(text))
    title = title_from(candidates=[heading.text for heading in headings[:1]], name=name)
    return ParsedDocument(text=text, media_type=RST, title=title, headings=headings)


def _headings(text: str) -> Iterator[Heading]:
    """The titles, each where its first line starts. Levels are in the order in which their adornments first occur."""
    lines: list[tuple[int, str]] = [(match.start(), match[0].rstrip().expandtabs(8)) for match in _LINE.finditer(text)]
    styles: list[tuple[str, bool]] = []
    index, starts_block = 0, True
    while index < len(lines):
        found = _title(lines, index) if starts_block else None
        if found is None:
            # Below a paragraph's first line, nothing is a title before the next blank line.
            starts_block = not lines[index][1] or (starts_block and _OTHER_BLOCK.match(lines[index][1]) is not None)
            index += 1
            continue
        title, style, height = found
        if style not in styles:
            styles.append(style)
        label = one_line(_plain(title))
        if label:
            yield Heading(offset=lines[index][0], level=styles.index(style) + 1, text=label)
        index += height
        starts_block = True


def _title(lines: list[tuple[int, str]], index: int) -> tuple[str, tuple[str, bool], int] | None:
    """The title that starts at a line, its style and how many lines it takes, or None."""
    first, second, third = (lines[i][1] if i < len(lines) else "" for i in range(index, index + 3))
    if not first or first[0] == " ":
        return None
    if _ADORNMENT.fullmatch(first):
        if first == third and second.strip() and _is_long_enough(first, second.strip()):
            return second.strip(), (first[0], True), 3
        return None
    if _ADORNMENT.fullmatch(second) and not _OTHER_BLOCK.match(first) and _is_long_enough(second, first):
        return first, (second[0], False), 2
    return None


def _is_long_enough(adornment: str, title: str) -> bool:
    return len(adornment) >= _SHORT or len(adornment) >= _width(title)


def _width(title: str) -> int:
    """The columns that a title takes: East Asian characters are as wide as two others."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in title)


def _plain(title: str) -> str:
    """A title as it is read, without marks of emphasis, roles and targets."""
    return _ESCAPE.sub(r"\1", _MARKUP.sub("", _TARGET.sub(r"\1", _ROLE.sub("", title[:_LONGEST]))))
