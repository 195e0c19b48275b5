"""HTML: trafilatura finds the article, a plain reading of all visible text stands in where it loses it."""

from __future__ import annotations

import re

import trafilatura

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument, check_extent, one_line, title_from
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.html_text import VisibleText
from ingest_app.parsing.markdown import headings

# An uploaded page is wanted for its content, so an extraction that leaves out most of it is not one.
_MIN_SHARE = 0.4
_HEAD = 4096
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.I)
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.I)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
# Browsers read these as Windows-1252, and so do the pages that declare them (WHATWG Encoding).
_WESTERN = {"ascii", "us-ascii", "iso-8859-1", "iso8859-1", "latin-1", "latin1", "x-cp1252"}
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
_FENCED = re.compile(r"(^```.*?^```[^\S\n]*$)", re.S | re.M)
_SUPERSCRIPT = re.compile(r"</?su[bp]>")


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from HTML, as Markdown. The title: the only H1, else <title>, else the first H1."""
    page = decode(content, declared=_declared(content[:_HEAD]))
    if page is None:
        raise UnableToParse("The page is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    if len(page) > 4 * MAX_CHARACTERS:
        check_extent(page[: MAX_CHARACTERS + 1])
    page = _XML_DECLARATION.sub("", page)
    visible = VisibleText()
    visible.feed(page)
    visible.close()
    text = check_extent(_with_heading(_article(page, visible.text), one_line(visible.first_heading)))
    found = headings(text)
    top = [heading.text for heading in found if heading.level == 1]
    return ParsedDocument(
        text=text,
        media_type="text/html",
        is_markdown=True,
        title=title_from(candidates=[top[0] if len(top) == 1 else None, visible.title, *top], name=name),
        headings=found,
    )


def _declared(head: bytes) -> str | None:
    match = _XML_ENCODING.search(head) or _CHARSET.search(head)
    if match is None:
        return None
    encoding = match[1].decode("ascii", errors="replace").lower()
    return "cp1252" if encoding in _WESTERN else encoding


def _article(page: str, visible: str) -> str:
    """The main content as Markdown, or all visible text where too little of it was found."""
    try:
        article = trafilatura.extract(
            page, output_format="markdown", include_comments=False, include_tables=True, favor_recall=True
        )
    except (ValueError, RecursionError):  # trees that lxml or trafilatura cannot walk
        article = None
    article = _unescaped(article or "").strip()
    loses_words = len(article.split()) < _MIN_SHARE * len(visible.split())
    # Of short pages it keeps the words and loses the structure. A lone heading is put back below.
    loses_structure = len(headings(article)) < len(headings(visible)) // 2
    return visible if loses_words or loses_structure else article


def _unescaped(markdown: str) -> str:
    """Markdown for reading and searching: `snake\\_case` would not be found, nor is it what was written."""
    parts = _FENCED.split(_SUPERSCRIPT.sub("", markdown))
    return "".join(part if index % 2 else _ESCAPED.sub(r"\1", part) for index, part in enumerate(parts))


def _with_heading(text: str, heading: str) -> str:
    """The text under the page's own heading, which extraction takes for decoration now and then."""
    known = {one_line(found.text).lower() for found in headings(text)}
    return text if not heading or heading.lower() in known else f"# {heading}\n\n{text}"
