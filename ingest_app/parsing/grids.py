"""Rows of cells as tables: which rows are captions, which is the header, and what to do with ragged rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ingest_app.parsing.document import MAX_CHARACTERS
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.writing import DocumentWriter

# Longer cells are words, whatever they consist of.
_LONGEST_VALUE = 32
_NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?\d[\d.,'\xa0 ]*(?:e[-+]?\d+)?\s?[%$€£¥)]?", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ]\d{1,2}:\d\d.*)?|\d{1,2}:\d\d(?::\d\d)?")
#: So many rows below the first tell whether it names the columns.
_SAMPLE = 20
_MOST_COLUMNS = 200
#: Records that are longer on average are read one by one, not as rows.
_LONG_RECORD = 500
#: What a cell takes in a table beside its words.
_CELL_EXTRA = 3


class CellBudget:
    """Counts the characters of cells while they are read, so that no file fills the memory before it is refused."""

    def __init__(self) -> None:
        self._left = MAX_CHARACTERS

    def spend(self, cells: Iterable[str]) -> None:
        """Raises UnableToParse once all cells together are too much for one document."""
        for cell in cells:
            self._left -= len(cell) + _CELL_EXTRA
        if self._left < 0:
            raise UnableToParse(
                f"The tables hold more than {MAX_CHARACTERS:,} characters: split the file and upload the parts.",
                "too_large",
            )


class SheetWriter:
    """Writes the tables of one sheet, from the top down."""

    def __init__(self, writer: DocumentWriter, *, sheet: str = "") -> None:
        self._writer = writer
        self._sheet = sheet
        self._header: list[str] = []

    def write(self, rows: Sequence[Sequence[str]], *, first_row: int) -> None:
        """Rows without a blank one between them, the first of them row `first_row` of the sheet.

        Rows of a single cell above the first of several are captions. The first row below them is the header,
        unless its numbers or dates stand above more of the same: then the columns have no names, or those of
        the table above, if that is as wide.
        """
        rows, captions = _without_captions(rows)
        for caption in captions:
            self._writer.block(caption)
        first_row += len(captions)
        rows = _bearable(rows)
        width = max(map(len, rows), default=0)
        known = self._header if len(self._header) == width else []
        if _is_unnamed(rows, alone=bool(known)):
            header = known or [""] * width
            self._writer.table([header, *rows], first_row=first_row - 1, sheet=self._sheet)
        else:
            self._header = list(rows[0]) if len(rows) > 1 else self._header
            self._writer.table(rows, first_row=first_row, sheet=self._sheet)


def is_sparse(rows: int, columns: int) -> bool:
    """Whether a table of that many cells is too large even if nothing stands in them."""
    return rows * columns * _CELL_EXTRA > MAX_CHARACTERS


def joined(cells: Iterable[str]) -> list[str]:
    """What stands in a row that no table can hold, in one cell."""
    return ["; ".join(cell for cell in cells if cell.strip())]


def record_rows(records: Sequence[Mapping[str, str]]) -> list[list[str]] | None:
    """Records as rows below their keys, or None where they differ too much or are too long to be rows."""
    if len(records) < 2:
        return None
    columns = list(dict.fromkeys(key for record in records for key in record))
    filled = sum(map(len, records))
    characters = sum(len(cell) for record in records for cell in record.values())
    if not 0 < len(columns) <= _MOST_COLUMNS or 2 * filled < len(columns) * len(records):
        return None
    if characters > _LONG_RECORD * len(records):
        return None
    return [columns, *([record.get(column, "") for column in columns] for record in records)]


def _without_captions(rows: Sequence[Sequence[str]]) -> tuple[Sequence[Sequence[str]], list[str]]:
    captions: list[str] = []
    for row in rows:
        filled = [cell for cell in row if cell.strip()]
        if len(filled) != 1:
            return rows[len(captions) :], captions
        captions.append(filled[0])
    return rows, []  # a column, not captions of nothing


def _bearable(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Rows that differ little in width: one broken row shall not pad all others with empty cells."""
    counts = Counter(map(len, rows))
    widest = max(counts, default=0)
    usual = _usual_width(counts, len(rows))
    if widest > 2 * usual:
        rows = [row if len(row) <= usual else [*row[: usual - 1], "; ".join(row[usual - 1 :])] for row in rows]
        widest = usual
    return [joined(row) for row in rows] if is_sparse(len(rows), widest) else rows


def _usual_width(counts: Counter[int], rows: int) -> int:
    """The width that all but one row in a hundred have at most."""
    wider = rows // 100
    for width in sorted(counts, reverse=True):
        wider -= counts[width]
        if wider < 0:
            return max(width, 1)
    return 1


def _is_unnamed(rows: Sequence[Sequence[str]], *, alone: bool) -> bool:
    """Whether a number or date in the first row stands above mostly the same kind, or if `alone`, above nothing."""
    below = rows[1 : 1 + _SAMPLE]
    for column, cell in enumerate(rows[0] if rows else ()):
        kind = _kind(cell)
        if kind:
            kinds = [_kind(row[column]) for row in below if column < len(row) and row[column].strip()]
            if 2 * kinds.count(kind) > len(kinds) or (alone and not below):
                return True
    return False


def _kind(cell: str) -> str:
    """`number`, `year`, `date`, or nothing for words. Years are told apart because they name columns."""
    cell = cell.strip()
    if not cell or len(cell) > _LONGEST_VALUE:
        return ""
    if _YEAR.fullmatch(cell):
        return "year"
    if _DATE.fullmatch(cell):
        return "date"
    return "number" if _NUMBER.fullmatch(cell) else ""
