"""The cells of an XLSX file as shown, sheet by sheet, and the words drawn over them.

The XML is read here and not by openpyxl, which refuses workbooks for styles it cannot model, fills
rows up to the last claimed column and keeps what a sheet says about itself in memory. Its tables of
number formats and its calendar are used.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from openpyxl.utils.datetime import from_ISO8601  # type: ignore[import-untyped]

from ingest_app.parsing.grids import CellBudget
from ingest_app.parsing.number_formats import GENERAL, builtin_code, shown_date, shown_number

# lxml elements carry no types.
_Element = Any

_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_DIGITS = "0123456789"
#: How characters that XML forbids are written, such as _x000D_.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
#: Excel ends at a sixteenth of it, LibreOffice here.
_LAST_ROW = 16_777_216
_LAST_COLUMN = 16_384
#: Merged ranges exclude each other, so no real sheet needs as many steps.
_MERGE_STEPS = 5_000_000


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A visible sheet. `rows` holds filled cells alone, by row and column, both counted from 1, both ascending."""

    name: str
    rows: dict[int, dict[int, str]]
    drawn: list[str]


@dataclass(kw_only=True)
class _Cells:
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    formulas: list[tuple[int, int, str]] = field(default_factory=list)
    is_calculated: bool = False
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)


class Workbook:
    """An opened XLSX package. Reading one that is damaged raises whatever lxml or zipfile do."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.lower(): name for name in archive.namelist()}
        self._budget = CellBudget()
        root = "xl/workbook.xml"
        self._book = self._tree(root)
        related = self._related(root)
        self._from_1904 = any(
            properties.get("date1904") in ("1", "true") for properties in self._book.iter("{*}workbookPr")
        )
        codes = self._number_codes(_of_kind(related, "styles"))
        self._codes = {str(style): code for style, code in enumerate(codes)}
        self._strings = list(self._shared_strings(_of_kind(related, "sharedStrings")))
        self._sheets = related

    @property
    def title(self) -> str:
        """The title in the properties, or nothing."""
        core = "docProps/core.xml"
        if core.lower() not in self._names:
            return ""
        return next((title.text or "" for title in self._tree(core).iter("{*}title")), "")

    def sheets(self) -> Iterator[Sheet]:
        """Visible sheets of cells in the order of their tabs. Sheets that are one chart are left out."""
        for sheet in self._book.iter("{*}sheet"):
            kind, part = self._sheets.get(_relation(sheet), ("", ""))
            if kind == "worksheet" and sheet.get("state", "visible") == "visible" and part.lower() in self._names:
                yield Sheet(name=sheet.get("name", ""), rows=self._rows(part), drawn=list(self._drawn(part)))

    def _open(self, part: str) -> Any:
        return self._archive.open(self._names[part.lower()])

    def _tree(self, part: str) -> _Element:
        with self._open(part) as file:
            return etree.parse(file, etree.XMLParser(**_SAFE)).getroot()

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """Kind and path of the parts that a part names, by their ids."""
        folder, name = posixpath.split(part)
        relations = f"{folder}/_rels/{name}.rels"
        if relations.lower() not in self._names:
            return {}
        return {
            relation.get("Id", ""): (
                posixpath.basename(relation.get("Type", "")),
                posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/"),
            )
            for relation in self._tree(relations).iter("{*}Relationship")
            if relation.get("TargetMode") != "External"
        }

    def _number_codes(self, parts: Sequence[str]) -> Iterator[str]:
        """The number format of each cell style."""
        for part in parts:
            styles = self._tree(part)
            formats = (found for list_of_formats in styles.iter("{*}numFmts") for found in list_of_formats)
            own = {found.get("numFmtId"): found.get("formatCode", "") for found in formats}
            for cell_styles in styles.iter("{*}cellXfs"):
                for style in cell_styles.iter("{*}xf"):
                    number = style.get("numFmtId", "0")
                    yield own.get(number) or builtin_code(int(number))

    def _shared_strings(self, parts: Sequence[str]) -> Iterator[str]:
        for part in parts:
            if part.lower() in self._names:
                with self._open(part) as file:
                    for _, entry in etree.iterparse(file, tag="{*}si", **_SAFE):
                        yield _string(entry)
                        _forget(entry)

    def _rows(self, part: str) -> dict[int, dict[int, str]]:
        cells = _Cells()
        number = 0
        with self._open(part) as file:
            for _, element in etree.iterparse(file, tag=("{*}row", "{*}mergeCell"), **_SAFE):
                if element.tag.endswith("row"):
                    number = int(float(element.get("r") or number + 1))  # some programs write 1.0
                    if not 0 < number <= _LAST_ROW:
                        raise ValueError("no spreadsheet has such a row")
                    self._read_row(element, cells, number)
                else:
                    cells.merged.append(_range(element.get("ref", "")))
                _forget(element)
        if not cells.is_calculated:
            # A program wrote the sheet and none has shown it yet: the formulas are all there is.
            for row, column, formula in cells.formulas:
                self._budget.spend([formula])
                cells.rows.setdefault(row, {})[column] = formula
        rows = {number: dict(sorted(cells.rows[number].items())) for number in sorted(cells.rows)}
        _take_out_merged(rows, cells.merged)
        return rows

    def _read_row(self, row: _Element, cells: _Cells, number: int) -> None:
        found: dict[int, str] = {}
        column = 0
        for cell in row:
            column = _column(cell.get("r", "").rstrip(_DIGITS)) or column + 1
            if len(cell) and column <= _LAST_COLUMN:
                text = self._read_cell(cell, cells, number, column)
                if text and not text.isspace():
                    found[column] = text
        if found:
            self._budget.spend(found.values())
            cells.rows.setdefault(number, {}).update(found)

    def _read_cell(self, cell: _Element, cells: _Cells, row: int, column: int) -> str:
        kind = cell.get("t", "n")
        value = formula = ""
        for child in cell:
            tag = str(child.tag)
            if tag.endswith("}v"):
                value = child.text or ""
            elif tag.endswith("}f"):
                formula = "=" + (child.text or "")
            elif tag.endswith("}is"):
                value = _string(child)
        if formula:
            cells.is_calculated = cells.is_calculated or bool(value) or kind == "str"
            if len(formula) > 1 and not value:
                cells.formulas.append((row, column, formula))
        return self._shown(value, kind, self._codes.get(cell.get("s", "0"), GENERAL)) if value else ""

    def _shown(self, value: str, kind: str, code: str) -> str:
        match kind:
            case "n":
                return shown_number(value, code, from_1904=self._from_1904)
            case "s":
                index = int(value)
                return self._strings[index] if index < len(self._strings) else ""
            case "inlineStr":
                return value
            case "b":
                return "TRUE" if value.strip() in ("1", "true") else "FALSE"
            case "d":
                return shown_date(from_ISO8601(value), code)
            case _:  # errors, and the words that formulas result in
                return _unescaped(value)

    def _drawn(self, sheet_part: str) -> Iterator[str]:
        """The words in shapes and the titles of charts that lie on a sheet."""
        for drawing in _of_kind(self._related(sheet_part), "drawing"):
            if drawing.lower() in self._names:
                for body in self._tree(drawing).iter("{*}txBody"):
                    yield _drawn_text(body)
                for chart in _of_kind(self._related(drawing), "chart"):
                    if chart.lower() in self._names:
                        yield from map(_drawn_text, self._tree(chart).iter("{*}title"))


def _of_kind(related: dict[str, tuple[str, str]], kind: str) -> list[str]:
    return [part for found, part in related.values() if found == kind]


def _relation(sheet: _Element) -> str:
    """The value of r:id; its namespace differs between the two editions of the standard."""
    return next((str(value) for key, value in sheet.attrib.items() if key.endswith("}id")), "")


def _forget(element: _Element) -> None:
    """Frees an element and those before it; without this the tree of a sheet grows to many times its file."""
    element.clear(keep_tail=False)
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _string(element: _Element) -> str:
    """Text in one or several runs, without the reading aids of Japanese."""
    parts = []
    for child in element:
        tag = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if tag == "t":
            parts.append(child.text or "")
        elif tag == "r":
            parts += [text.text or "" for text in child.iter("{*}t")]
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _drawn_text(body: _Element) -> str:
    lines = ("".join(text.text or "" for text in paragraph.iter("{*}t")) for paragraph in body.iter("{*}p"))
    return "\n".join(line for line in lines if line.strip())


@lru_cache(maxsize=20_000)
def _column(letters: str) -> int:
    """The number of a column from 1, of what is none 0."""
    number = 0
    for letter in letters if len(letters) <= 3 and letters.isascii() and letters.isupper() else "":
        number = 26 * number + ord(letter) - 64
    return number


def _range(reference: str) -> tuple[int, int, int, int]:
    """First row, first column, last row, last column; of a broken reference, nothing."""
    first, _, last = reference.partition(":")
    start, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last)
    if start is None or end is None:
        return (1, 1, 0, 0)
    return int(start[2]), _column(start[1]), int(end[2]), _column(end[1])


def _take_out_merged(rows: dict[int, dict[int, str]], merged: list[tuple[int, int, int, int]]) -> None:
    """Of merged cells only the first is seen, whatever some programs leave in the others."""
    numbers = list(rows)
    steps = 0
    for first_row, first_column, last_row, last_column in merged:
        for number in numbers[bisect_left(numbers, first_row) : bisect_right(numbers, last_row)]:
            cells = rows[number]
            steps += len(cells)
            if steps > _MERGE_STEPS:
                return
            covered = [column for column in cells if first_column <= column <= last_column]
            for column in covered:
                if (number, column) != (first_row, first_column):
                    del cells[column]
    for number in numbers:
        if not rows[number]:
            del rows[number]
