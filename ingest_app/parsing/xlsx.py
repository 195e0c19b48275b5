"""Excel workbooks as tables: values as shown, sub-tables between blank rows, each with its sheet and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.document import ParsedDocument
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.grids import SheetWriter, is_sparse, joined
from ingest_app.parsing.media_types import XLSX
from ingest_app.parsing.workbook import Sheet, Workbook
from ingest_app.parsing.writing import DocumentWriter

#: What programs call a sheet that nobody has named.
_UNNAMED = re.compile(
    r"(?:sheet|tabelle|feuil|feuille|hoja|foglio|blad|ark|taulukko|arkusz|list|munka|planilha|plan|folha|"
    r"лист|аркуш|sayfa|シート|工作表|시트)\s*1?",
    re.I,
)


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from XLSX. The title: that of the properties, else the file's name.

    Hidden sheets and comments are left out; hidden rows and columns are read, as filters and folded groups
    hide them for a while only. Formulas give their last result; a sheet without a single result gives them.
    """
    with open_archive(content) as archive:
        try:
            workbook = Workbook(archive)
            title, sheets = workbook.title, list(workbook.sheets())
        except (MemoryError, UnableToParse):
            raise
        except Exception as error:  # whatever a hostile package makes zipfile or lxml raise
            raise UnableToParse(
                "The XLSX file is damaged or was cut off: open it in Excel, save it again and upload that.",
                "corrupt_file",
            ) from error
    writer = DocumentWriter()
    for sheet in sheets:
        if len(sheets) > 1 or not _UNNAMED.fullmatch(sheet.name.strip()):
            writer.heading(sheet.name, level=2)
        _write(writer, sheet)
    return writer.document(media_type=XLSX, name=name, titles=[title])


def _write(writer: DocumentWriter, sheet: Sheet) -> None:
    tables = SheetWriter(writer, sheet=sheet.name)
    for numbers in _blocks(sheet.rows):
        columns = sorted({column for number in numbers for column in sheet.rows[number]})
        if is_sparse(len(numbers), len(columns)):
            rows = [joined(sheet.rows[number].values()) for number in numbers]
        else:
            rows = [[sheet.rows[number].get(column, "") for column in columns] for number in numbers]
        tables.write(rows, first_row=numbers[0])
    for words in sheet.drawn:
        writer.block(words)


def _blocks(rows: dict[int, dict[int, str]]) -> Iterator[list[int]]:
    """The numbers of rows without a blank one between them."""
    numbers: list[int] = []
    for number in rows:
        if numbers and number != numbers[-1] + 1:
            yield numbers
            numbers = []
        numbers.append(number)
    if numbers:
        yield numbers
