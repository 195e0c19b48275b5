"""Org: the text stays as written, headings are its lines that start with stars outside of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import Heading, ParsedDocument, check_extent, one_line, title_from
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import ORG

_HEADLINE = re.compile(r"^(\*+)[ \t]+(\S[^\n]*)$", re.M)
_TITLE = re.compile(r"^[ \t]*#\+title:[ \t]*(\S[^\n]*)$", re.M | re.I)
_EDGE_OF_BLOCK = re.compile(r"^[ \t]*#\+(begin|end)_(\S+)", re.M | re.I)
_STATE = re.compile(r"(?:TODO|DONE|NEXT|WAITING|STARTED|HOLD|CANCELLED|CANCELED)\s+(?=\S)")
_PRIORITY = re.compile(r"\[#\w{1,2}\]\s*")
_TAGS = re.compile(r"\s+:(?:[\w@#%]+:)+\s*$")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,2000})\](?:\[([^\[\]\n]{1,2000})\])?\]")
#: Far more than a heading shows.
_LONGEST = 2000
#: Emphasis counts between white space or punctuation, so that paths and names keep their characters.
_EMPHASIS = re.compile(r"(?<![^\s\-({'\"])([*/_=~+])(?!\1)(\S(?:[^\n]{0,200}?\S)??)\1(?![^\s\-.,;:!?'\")}\[])")


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from Org in any encoding. The title: of `#+TITLE:`, else the first heading."""
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    check_extent(text)
    blocks = list(_blocks(text))
    titles = [_plain(match[1]) for match in _outside(_TITLE.finditer(text), blocks)]
    headings = tuple(_headings(_outside(_HEADLINE.finditer(text), blocks)))
    candidates = [" ".join(titles), *(heading.text for heading in headings[:1])]
    return ParsedDocument(
        text=text, media_type=ORG, title=title_from(candidates=candidates, name=name), headings=headings
    )


def _headings(headlines: Iterator[re.Match[str]]) -> Iterator[Heading]:
    for match in headlines:
        words = _TAGS.sub("", match[2])
        label = one_line(_plain(_PRIORITY.sub("", _STATE.sub("", words, count=1), count=1)))
        if label:
            yield Heading(offset=match.start(), level=len(match[1]), text=label)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where the blocks are, such as code and quotes, from `#+BEGIN_X` to the `#+END_X` that closes it."""
    opened: tuple[int, str] | None = None
    # Without its end a block is none: the last place of each kind of end tells.
    last_ends = {
        match[2].lower(): match.start() for match in _EDGE_OF_BLOCK.finditer(text) if match[1].lower() == "end"
    }
    for match in _EDGE_OF_BLOCK.finditer(text):
        kind = match[2].lower()
        if opened is None and match[1].lower() == "begin" and last_ends.get(kind, -1) > match.start():
            opened = match.start(), kind
        elif opened is not None and match[1].lower() == "end" and kind == opened[1]:
            yield opened[0], match.end()
            opened = None


def _outside(matches: Iterator[re.Match[str]], blocks: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """The matches in none of the blocks; both are in the order of the text."""
    index = 0
    for match in matches:
        while index < len(blocks) and blocks[index][1] <= match.start():
            index += 1
        if index == len(blocks) or match.start() < blocks[index][0]:
            yield match


def _plain(words: str) -> str:
    """A headline as it is read, without links' targets and marks of emphasis."""
    words = words[:_LONGEST]
    return _EMPHASIS.sub(r"\2", _LINK.sub(lambda match: match[2] or match[1], words))
