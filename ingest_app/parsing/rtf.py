"""Rich text: paragraphs, lists, tables, notes, text boxes, headers and footers once; deleted and hidden text never."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingest_app.parsing.blocks import Block
from ingest_app.parsing.document import ParsedDocument
from ingest_app.parsing.media_types import RTF
from ingest_app.parsing.package import damaged
from ingest_app.parsing.rtf_flows import Flow
from ingest_app.parsing.writing import DocumentWriter

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]+)(?P<number>-?[0-9]{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+",
    re.S,
)
_CHARACTERS = {
    **{"bullet": "•", "emdash": "—", "endash": "–", "ldblquote": "“", "lquote": "‘", "rdblquote": "”", "rquote": "’"},  # noqa: RUF001
    **dict.fromkeys(("emspace", "enspace", "qmspace"), " "),
    **dict.fromkeys(("lbr", "line", "softline"), "\n"),
    **{"tab": "\t", "zwj": "\u200d", "zwnj": "\u200c"},
}
_SYMBOLS = {b"~": " ", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\", b"\t": "\t"}
_ENDS_OF_PARAGRAPHS = {"column", "page", "par", "sect"}
_ENDS_OF_CELLS = {"cell": Flow.end_cell, "nestcell": Flow.end_inner_cell, "nestrow": Flow.end_inner_row}
#: Groups that hold no text of the document; the rest of their kind start with a star.
_SKIPPED = {
    *("aftncn", "aftnsep", "aftnsepc", "colortbl", "filetbl", "ftncn", "ftnsep", "ftnsepc", "info", "listtable"),
    *("list", "listlevel", "listoverride", "listoverridetable", "nonesttables", "nonshppict", "pict", "revtbl", "rxe"),
    *("shprslt", "sp", "tc", "tcn", "txe", "upr", "xe", "mbegChr", "mchr", "mendChr", "msepChr"),
}
_STARRED_AND_SHOWN = {"do", "moMath", "moMathPara", "nesttableprops", "shpinst", "shptxt", "ud"}
_FLOWS = {
    **dict.fromkeys(("header", "headerf", "headerl", "headerr"), "header"),
    **dict.fromkeys(("footer", "footerf", "footerl", "footerr"), "footer"),
    **{"dptxbxtext": "box", "footnote": "note", "shptxt": "box"},
}
#: Groups whose words say something other than text.
_DESTINATIONS = {"fldinst": "field", "fonttbl": "fonts", "listtext": "mark", "pntext": "mark", "stylesheet": "styles"}
_CODE_PAGES = {
    **{0: 1252, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256},
    **{186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850},
}
_CODECS = {
    **{65001: "utf-8", 10000: "mac_roman", 10006: "mac_greek", 10007: "mac_cyrillic", 10029: "mac_latin2"},
    **{77: "mac_roman", 78: "shift_jis", 79: "big5", 80: "euc_kr", 83: "mac_greek", 84: "mac_cyrillic"},
    **{85: "gb2312", 88: "mac_latin2", 130: "johab"},
}
_BY_KIND_OF_MACHINE = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_HEADING_STYLE = re.compile(r"heading ([1-9])", re.I)
_DEEPEST = 5000


class _State(NamedTuple):
    """What a group inherits from the one around it."""

    flow: Flow
    destination: str = ""
    is_skipped: bool = False
    is_hidden: bool = False
    fallback: int = 1
    font: int = -1
    in_table: bool = False
    nesting: int = 1
    style: int = 0
    outline: int = 9
    depth: int = 0


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from RTF. The title: of its properties, else the first heading."""
    reader = _Reader()
    reader.read(content)
    writer = DocumentWriter()
    body = reader.body.blocks
    for block in (*_once(reader.running["header"]), *body, *reader.notes(), *_once(reader.running["footer"])):
        block.write(writer)
    first = next((block.text for block in body if block.is_heading), None)
    return writer.document(media_type=RTF, name=name, titles=["".join(reader.title), first])


class _Reader:
    """Goes through the tokens of a file once. The state of a group ends with it."""

    def __init__(self) -> None:
        self.body = Flow(kind="body")
        self.title: list[str] = []
        self.running: dict[str, list[Block]] = {"header": [], "footer": []}
        self._notes: list[Flow] = []
        self._state = _State(self.body)
        self._stack: list[_State] = []
        self._bytes = bytearray()
        self._to_skip = 0
        self._starts = False
        self._is_starred = False
        self._encoding = "cp1252"
        self._default_font = -1
        self._fonts: dict[int, str] = {}
        self._style_names: dict[int, str] = {}
        self._style_levels: dict[int, int] = {}

    def read(self, content: bytes) -> None:
        for kind, value, number in _tokens(content):
            if kind == "text":
                self._take(value)
                continue
            if kind == "hex":
                self._take(bytes.fromhex(value.decode()))
                continue
            self._flush()
            if kind == "brace":
                self._to_skip = 0
                if value == b"{":
                    self._open()
                elif not self._close():
                    break
            elif kind == "symbol":
                self._symbol(value)
            else:
                self._word(value.decode("ascii"), number)
        self._flush()
        if len(self._stack) > 1:  # programs forgive a missing last brace, but this file was cut off
            raise damaged()
        self.body.end()

    def notes(self) -> Iterator[Block]:
        """Footnotes and endnotes under the numbers that stand in the text."""
        for flow in self._notes:
            yield Block(text=f"[^{flow.note}]: " + " ".join(block.in_one_line for block in flow.blocks))

    def _take(self, content: bytes) -> None:
        """Bytes of text. Those after a Unicode character are its stand-in for old programs."""
        skipped = min(self._to_skip, len(content))
        self._to_skip -= skipped
        if not (self._state.is_skipped or self._state.is_hidden):
            self._bytes += content[skipped:]

    def _flush(self) -> None:
        if self._bytes:
            encoding = self._fonts.get(self._state.font, self._encoding)
            text = self._bytes.decode(encoding, "replace")
            self._bytes.clear()
            self._say(text)

    def _say(self, text: str) -> None:
        state = self._state
        if state.is_skipped or state.is_hidden:
            return
        if state.destination == "styles":
            known = self._style_names.get(state.style, "")
            self._style_names[state.style] = (known + text)[:200]
        elif state.destination == "title":
            self.title.append(text)
        elif state.destination == "mark":
            state.flow.mark.append(text)
        elif state.destination == "field":
            state.flow.has_page_number |= state.flow.kind in self.running and "PAGE" in text
        elif not state.destination:
            state.flow.words.append(text)

    def _open(self) -> None:
        if len(self._stack) >= _DEEPEST:
            raise RecursionError("groups within groups")
        self._stack.append(self._state)
        self._starts, self._is_starred = True, False

    def _close(self) -> bool:
        """The state around the group; False when the document has ended."""
        if not self._stack:
            return False
        inner, self._state = self._state, self._stack.pop()
        self._starts = False
        flow = inner.flow
        if flow is not self._state.flow:
            flow.end()
            if flow.kind == "box":
                self._state.flow.boxes.extend(flow.blocks)
            elif flow.kind == "note":
                self._notes.append(flow)
            else:
                self.running[flow.kind].extend(flow.blocks)
        return bool(self._stack)

    def _symbol(self, symbol: bytes) -> None:
        self._to_skip = 0
        if symbol == b"*":
            self._is_starred = self._starts
        elif symbol in b"\r\n":
            self._end_paragraph()
        else:
            self._say(_SYMBOLS.get(symbol, ""))

    def _word(self, word: str, number: int | None) -> None:
        starred, self._is_starred, self._starts = self._is_starred, False, False
        self._to_skip = 0
        if self._starts_group(word, starred):
            return
        if word == "u" and number is not None:
            self._unicode(number)
        elif word in _CHARACTERS:
            self._say(_CHARACTERS[word])
        elif word in _ENDS_OF_PARAGRAPHS:
            self._end_paragraph()
        elif self._state.destination in ("fonts", "styles"):
            self._define(word, number or 0)
        elif not self._of_table(word, number or 0):
            self._format(word, number)

    def _starts_group(self, word: str, starred: bool) -> bool:
        """Whether the word says what the group is, and so whether its text is shown, and where."""
        state = self._state
        if word in _DESTINATIONS:
            self._state = state._replace(destination=_DESTINATIONS[word])
        elif word == "title" and state.destination == "info":
            self._state = state._replace(destination="title", is_skipped=False, font=-1)
        elif word == "ud" and state.destination == "upr" and len(self._stack) > 1:
            self._state = self._stack[-2]  # the better half of \upr counts as if it stood outside
        elif word in _SKIPPED or (starred and word not in _STARRED_AND_SHOWN) or re.fullmatch(r"m\w*Pr", word):
            self._state = state._replace(is_skipped=True, destination=word if word in ("info", "upr") else "")
        elif word in _FLOWS and not (state.is_skipped or state.is_hidden):
            self._start_flow(_FLOWS[word])
        else:
            return starred
        return True

    def _start_flow(self, kind: str) -> None:
        number = 0
        if kind == "note":
            number = len(self._notes) + 1
            self._say(f"[^{number}]")
        self._state = _State(Flow(kind=kind, note=number), fallback=self._state.fallback, font=self._state.font)

    def _unicode(self, number: int) -> None:
        code = number + 65536 if number < 0 else number
        if 0 < code < 0x110000:
            self._say(chr(code))
        self._to_skip = self._state.fallback

    def _end_paragraph(self) -> None:
        state = self._state
        if state.is_skipped or state.is_hidden or state.destination:
            return
        if state.in_table and state.nesting > 1:
            state.flow.words.append(" ")
            return
        style = self._style_names.get(state.style, "").strip(" ;").lower()
        named = _HEADING_STYLE.match(style)
        level = state.outline + 1 if state.outline < 9 else self._style_levels.get(state.style)
        level = level or (int(named[1]) if named else None)
        # A table of contents repeats every heading and nothing else.
        is_shown = not style.startswith("toc ")
        state.flow.end_paragraph(in_table=state.in_table, level=level, depth=state.depth, is_shown=is_shown)

    def _define(self, word: str, number: int) -> None:
        """In the table of fonts their encodings, in the style sheet names and levels."""
        state = self._state
        if word == "f":
            self._state = state._replace(font=number)
        elif word == "s":
            self._state = state._replace(style=number)
        elif word in ("cpg", "fcharset") and state.destination == "fonts":
            encoding = _codec(_CODE_PAGES.get(number, number))
            if encoding and not (word == "fcharset" and number in (1, 2)):
                self._fonts[state.font] = encoding
        elif word == "outlinelevel" and 0 <= number < 9:
            self._style_levels[state.style] = number + 1

    def _of_table(self, word: str, number: int) -> bool:
        state = self._state
        if word in _ENDS_OF_CELLS:
            if not state.is_skipped:
                _ENDS_OF_CELLS[word](state.flow)
        elif word == "row":
            state.flow.end_row()
        elif word == "trowd":
            state.flow.edges = []
        elif word == "cellx":
            state.flow.edges.append(number)
        else:
            return False
        return True

    def _format(self, word: str, number: int | None) -> None:
        """What characters and paragraphs are like, and how bytes are to be read."""
        state = self._state
        if word == "pard":
            self._state = state._replace(in_table=False, nesting=1, style=0, outline=9, depth=0)
        elif word == "plain":
            self._state = state._replace(font=self._default_font, is_hidden=False)
        elif word in ("deleted", "v"):
            self._state = state._replace(is_hidden=number != 0)
        elif word == "intbl":
            self._state = state._replace(in_table=True)
        elif word in _NUMBERS and number is not None:
            change: dict[str, Any] = {_NUMBERS[word]: max(0, min(number, _MOST.get(word, number)))}
            self._state = state._replace(**change)
        elif word == "deff":
            self._default_font = number or 0
            self._state = state._replace(font=self._default_font)
        elif word == "ansicpg":
            self._encoding = _codec(number or 0) or self._encoding
        elif word in _BY_KIND_OF_MACHINE:
            self._encoding = _BY_KIND_OF_MACHINE[word]


#: Words that set a number of the state, and the largest that means something.
_NUMBERS = {"f": "font", "ilvl": "depth", "itap": "nesting", "outlinelevel": "outline", "s": "style", "uc": "fallback"}
_MOST = {"ilvl": 8, "outlinelevel": 9, "uc": 8}


def _tokens(content: bytes) -> Iterator[tuple[str, bytes, int | None]]:
    """The kind of each token, its bytes, and the number of a word. Binary data is passed over."""
    position = 0
    while match := _TOKEN.match(content, position):
        position = match.end()
        kind = match.lastgroup
        if kind is None:
            continue
        if kind == "number":
            word, number = match["word"], int(match["number"])
            if word == b"bin":
                position += max(0, number)
            else:
                yield "word", word, number
        else:
            yield kind, match[kind], None


def _codec(code_page: int) -> str | None:
    """The name of Python's codec for a code page or, where it has none, for a character set of the Macintosh."""
    name = _CODECS.get(code_page, f"cp{code_page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def _once(blocks: list[Block]) -> list[Block]:
    """Headers of even, odd and first pages often say the same."""
    return list({block.in_one_line: block for block in blocks}.values())
