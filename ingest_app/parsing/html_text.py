"""All visible text of an HTML page, in one pass without a tree: it survives any nesting and any soup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNSEEN = {"script", "style", "noscript", "template", "svg", "iframe", "object", "select", "head"}
_AROUND = {"nav", "footer", "aside"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    *("address", "article", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "form", "header", "hr", "legend", "main", "ol", "p", "section"),
    *("summary", "table", "tbody", "tfoot", "thead", "ul", *_HEADINGS),
}
_LINES = {"br", "li", "tr", "pre"}
#: Of what hides its contents, so much within each other is kept track of; more of it hides no more.
_MOST_HIDDEN = 200
_COMMENT = re.compile(r"<!--(?:.*?-->|.*)", re.S)
# Of sections in brackets the library knows those of SGML and of Word, and gives up over any other.
_ODD_SECTION = re.compile(r"<!\[(?!(?:if|else|endif|cdata|temp|ignore|include|rcdata)\b)", re.I)
# The library looks for the end of each of them up to the end of the page.
_UNCLOSED = re.compile(r"<(?![^<>]*>)")


class VisibleText(HTMLParser):
    """Feed it a page and close it; then read `title`, `first_heading` and `text`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.first_heading = ""
        self._parts: list[str] = []
        self._hidden: list[str] = []
        self._pre = 0
        self._in_title = False
        self._in_first_heading = False

    def feed(self, data: str) -> None:
        """Take in a whole page, at once."""
        super().feed(_UNCLOSED.sub("&lt;", _ODD_SECTION.sub("<!x[", _COMMENT.sub("", data))))

    @property
    def text(self) -> str:
        """Lines with Markdown marks for headings, items and cells; blank lines between blocks."""
        lines = "".join(self._parts).split("\n")
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip(" |") for line in lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self.title:
            self._in_title = True
        if tag in _BLOCKS and "head" in self._hidden:
            self._hidden.remove("head")  # its end tag may be left out
        if (tag in _UNSEEN or tag in _AROUND) and len(self._hidden) < _MOST_HIDDEN:
            self._hidden.append(tag)
        if self._hidden:
            return
        self._open(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"
        if tag in self._hidden:
            # What was left open within ends with it.
            del self._hidden[self._hidden.index(tag) :]
        elif not self._hidden:
            if tag == "h1":
                self._in_first_heading = False
            if tag == "pre" and self._pre:
                self._pre -= 1
            if tag in _BLOCKS or tag == "pre":
                self._parts.append("\n\n")
            elif tag in ("td", "th"):
                self._parts.append(" | ")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        if self._hidden or self._in_title:
            return
        if self._in_first_heading:
            self.first_heading += data
        if self._pre:
            self._parts.append(data)
            return
        words = re.sub(r"\s+", " ", data)
        if self._parts and self._parts[-1].endswith(("\n", " ")):
            words = words.lstrip(" ")
        if words:
            self._parts.append(words)

    def _open(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._parts.append("\n\n")
        elif tag in _LINES:
            self._parts.append("\n")
        if tag in _HEADINGS:
            self._parts.append("#" * _HEADINGS[tag] + " ")
            self._in_first_heading = tag == "h1" and not self.first_heading
        elif tag == "li":
            self._parts.append("- ")
        elif tag == "pre":
            self._pre += 1
