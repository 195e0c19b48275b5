"""CSV and TSV as one table: whatever separates the columns, with or without a header, however ragged."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument, check_extent
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.grids import CellBudget, SheetWriter
from ingest_app.parsing.media_types import CSV, TSV
from ingest_app.parsing.writing import DocumentWriter

# The module's own bound of 128 KiB would refuse a file for one long cell.
csv.field_size_limit(MAX_CHARACTERS)

#: The commonest last: where several fit, the others are no accident (`1,5;2,7` has decimals).
_DELIMITERS = "\t;|,"
# No text holds it: `decode` takes control characters out.
_NO_DELIMITER = "\x1f"
_SAMPLE = 64 * 1024
_SAMPLE_RECORDS = 200
#: A delimiter cuts at least this share of the records into equally many cells; else it is punctuation.
_MIN_SHARE = 0.5
#: How Excel is told the delimiter; it does not show this line.
_DECLARED = re.compile(r'sep=([^\n"])\n', re.I)


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from CSV or TSV, named after its file. Rows are counted as records, blank lines aside.

    A record of empty cells ends a table, as does a blank line where the number of columns changes.
    """
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    check_extent(text)
    is_tsv = name.lower().endswith((".tsv", ".tab"))
    declared = _DECLARED.match(text)
    text = text[declared.end() :] if declared else text
    delimiter = declared[1] if declared else _delimiter(text, "\t" if is_tsv else None)
    writer = DocumentWriter()
    sheet = SheetWriter(writer)
    for first_row, rows in _tables(_records(text, delimiter)):
        sheet.write(rows, first_row=first_row)
    return writer.document(media_type=TSV if is_tsv else CSV, name=name)


def _delimiter(text: str, expected: str | None) -> str:
    """The expected one if it cuts anything, else the one that cuts most records into equally many cells."""
    sample = text[:_SAMPLE]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1] or sample
    shares = {delimiter: _share(sample, delimiter) for delimiter in _DELIMITERS}
    if expected and shares[expected]:
        return expected
    best = max(_DELIMITERS, key=lambda delimiter: shares[delimiter])
    return best if shares[best] >= _MIN_SHARE else _NO_DELIMITER


def _share(sample: str, delimiter: str) -> float:
    """The share of records that have the commonest number of cells, 0 where that is one cell."""
    widths = [len(row) for row in _read(sample, delimiter) if row][:_SAMPLE_RECORDS]
    (width, count), *_ = Counter(widths).most_common(1) or [(0, 0)]
    return count / len(widths) if width > 1 else 0


def _read(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, skipinitialspace=True)


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """All records; a blank line is one without cells. A quote that nothing closes takes no more than its line."""
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, skipinitialspace=True)
    held: list[str] | None = None
    held_line = read_lines = 0
    for row in reader:
        if held is not None:
            yield held
        held, held_line, read_lines = row, read_lines, reader.line_num
    if held is None:
        return
    if read_lines - held_line > 1:
        rest = "\n".join(text.split("\n")[held_line:])
        if rest.count('"') % 2:
            yield from csv.reader(io.StringIO(rest, newline="\n"), delimiter=delimiter, quoting=csv.QUOTE_NONE)
            return
    yield held


def _tables(records: Iterator[list[str]]) -> Iterator[tuple[int, list[list[str]]]]:
    """Each table with the number of its first record."""
    budget = CellBudget()
    rows: list[list[str]] = []
    number, follows_blank = 0, False
    for record in records:
        if not record:
            follows_blank = True
            continue
        number += 1
        budget.spend(record)
        is_empty = not any(cell.strip() for cell in record)
        if rows and (is_empty or (follows_blank and len(record) != len(rows[-1]))):
            yield number - len(rows), rows
            rows = []
        if not is_empty:
            rows.append(record)
        follows_blank = False
    if rows:
        yield number + 1 - len(rows), rows
