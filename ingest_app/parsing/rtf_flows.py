"""What stands in one stream of an RTF document, its body, a footnote or a text box: paragraphs, items, tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest_app.parsing.blocks import Block

#: Words beside a page's number, as in `Page 1 of 3`, that make a line no text.
_WORDS_OF_PAGE_NUMBER = 2
#: What leads an item of a numbered list; other marks are bullets.
_ITEM_NUMBER = re.compile(r"(?=.*\d)[\w.()\[\]-]{1,20}|\(?\w{1,6}[.):]")
#: Edges of cells this close, in twentieths of a point, are one.
_SAME_EDGE = 30
#: Symbol fonts have their characters in a private area.
_BULLET = "\uf0b7"
_SYMBOLS = re.compile("[\uf000-\uf0ff]")


class Flow:
    """Takes words, ends of paragraphs, cells and rows; `blocks` is complete after `end`."""

    def __init__(self, *, kind: str, note: int = 0) -> None:
        self.kind = kind
        self.note = note
        self.blocks: list[Block] = []
        self.words: list[str] = []
        self.mark: list[str] = []
        self.boxes: list[Block] = []
        self.edges: list[int] = []
        self.has_page_number = False
        self._cell: list[str] = []
        self._cells: list[str] = []
        self._rows: list[tuple[list[str], list[int]]] = []
        self._inner_cells: list[str] = []
        self._inner_rows: list[str] = []

    def end_paragraph(self, *, in_table: bool, level: int | None = None, depth: int = 0, is_shown: bool = True) -> None:
        """A paragraph of the open cell or of the flow itself, which ends a table."""
        mark = " ".join("".join(self.mark).split())
        text = self._text()
        number = f"{mark} " if _ITEM_NUMBER.fullmatch(mark) else ""
        is_item, self.mark = bool(self.mark), []
        if in_table:
            self._add_to_cell(number + text if text else "")
            return
        self.end_table()
        if text and is_shown and not self._is_page_number(text):
            is_item = is_item and level is None
            self.blocks.append(Block(text=number + text, level=level, depth=depth if is_item else None))
        self._take_boxes()

    def end_cell(self) -> None:
        self._add_to_cell(self._text())
        self._cell.extend(block.in_one_line for block in self.boxes)
        self.boxes = []
        self._cells.append(" ".join(self._cell))
        self._cell, self.mark = [], []

    def end_row(self) -> None:
        self._rows.append((self._cells, self.edges))
        self._cells = []

    def end_inner_cell(self) -> None:
        """A cell of a table that stands in a cell."""
        self._inner_cells.append(self._text())

    def end_inner_row(self) -> None:
        self._inner_rows.append(", ".join(filter(None, self._inner_cells)))
        self._inner_cells = []

    def end_table(self) -> None:
        if not (self._rows or self._cells or self._cell or self._inner_cells or self._inner_rows):
            return
        if self._cell or self._inner_cells or self._inner_rows:
            self.end_inner_row()
            self._add_to_cell("")
            self._cells.append(" ".join(self._cell))
            self._cell = []
        if self._cells:
            self.end_row()
        rows = [row for row in _aligned(self._rows) if any(row)]
        if rows:
            self.blocks.append(Block(rows=rows))
        self._rows = []

    def end(self) -> None:
        """The last paragraph and table need not be closed."""
        self.end_paragraph(in_table=False)

    def _text(self) -> str:
        """The words since the last paragraph."""
        text = "\n".join(line.rstrip() for line in "".join(self.words).strip().split("\n"))
        text = re.sub(r"\n{3,}", "\n\n", text)
        self.words.clear()
        if text.isascii():
            return text
        # Characters beyond the first 65,536 come as two halves.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return _SYMBOLS.sub("", text.replace(_BULLET, "•").replace("\xad", "")).strip()

    def _add_to_cell(self, text: str) -> None:
        if self._inner_rows:
            self._cell.append("; ".join(filter(None, self._inner_rows)))
            self._inner_rows = []
        if text:
            self._cell.append(" ".join(text.split()))

    def _take_boxes(self) -> None:
        self.blocks.extend(self.boxes)
        self.boxes = []

    def _is_page_number(self, text: str) -> bool:
        numbered, self.has_page_number = self.has_page_number, False
        return numbered and len(re.findall(r"[^\W\d]+", text)) <= _WORDS_OF_PAGE_NUMBER


def _aligned(rows: Sequence[tuple[list[str], list[int]]]) -> list[list[str]]:
    """The cells by column: one that spans several is followed by empty ones, where the widest row tells columns."""
    columns = max((edges for _, edges in rows), key=len, default=[])
    lines = []
    for cells, edges in rows:
        line: list[str] = []
        for cell, edge in zip(cells, edges, strict=False):
            index = next((i for i, right in enumerate(columns) if abs(right - edge) <= _SAME_EDGE), None)
            if index is None or index < len(line):
                break
            line.extend([cell, *[""] * (index - len(line))])
        lines.append(line if len(cells) <= len(edges) and sum(map(bool, line)) == sum(map(bool, cells)) else cells)
    return lines
