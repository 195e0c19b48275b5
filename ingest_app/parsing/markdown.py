"""Markdown: the text stays as written, the headings are found by a real parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import Heading, ParsedDocument, check_extent, one_line, title_from
from ingest_app.parsing.errors import UnableToParse

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_BLOCKS_ONLY = MarkdownIt("commonmark")
_BLOCKS_ONLY.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark")


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from Markdown in any encoding. The title: front matter, else the first H1."""
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    check_extent(text)
    metadata, body = _front_matter(text)
    found = headings(text, start=body)
    first = next((heading.text for heading in found if heading.level == 1), None)
    title = title_from(candidates=[metadata, first], name=name)
    return ParsedDocument(text=text, media_type="text/markdown", is_markdown=True, title=title, headings=found)


def headings(text: str, *, start: int = 0) -> tuple[Heading, ...]:
    """The headings of Markdown text from `start` on, ATX and setext, but none inside code or quotes."""
    body = text[start:]
    line_starts = list(accumulate((len(line) + 1 for line in body.split("\n")), initial=start))
    tokens = _BLOCKS_ONLY.parse(body)
    found = []
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        label = one_line(_plain(inline.content))
        if label:
            found.append(Heading(offset=line_starts[token.map[0]], level=int(token.tag[1]), text=label))
    return tuple(found)


def _plain(inline_markdown: str) -> str:
    """A heading as it is read, without marks of emphasis, links and images."""
    return "".join(_words(_INLINE.parseInline(inline_markdown)))


def _words(tokens: Iterable[Token]) -> Iterable[str]:
    for token in tokens:
        if token.children:
            yield from _words(token.children)
        elif token.type in ("text", "code_inline"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "


def _front_matter(text: str) -> tuple[str | None, int]:
    """The title in a YAML front matter, and where the body starts."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return None, 0
    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, match.end()  # a thematic break or broken YAML is still no heading
    title = fields.get("title") if isinstance(fields, dict) else None
    return (title if isinstance(title, str) else None), match.end()
