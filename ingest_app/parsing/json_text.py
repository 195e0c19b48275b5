"""JSON and JSON lines as text: `key: value` lines, headings for what is nested, tables for records alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument, check_extent, one_line, stem
from ingest_app.parsing.embedded import without_files
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.grids import record_rows
from ingest_app.parsing.media_types import JSON, JSON_LINES
from ingest_app.parsing.writing import DocumentWriter

# Whatever `_loads` returns: objects, arrays, True, False, None, and strings for all else.
_Value = Any

#: Keys of what an object is called, the best first.
_NAMES = ("title", "name", "label", "headline", "subject", "id")
#: The document itself has level 1, though its title stands in no line.
_TOP = 2
_DEEPEST_HEADING = 6
#: Longer strings are paragraphs, longer arrays and objects are not put into one line.
_LONG = 200
#: Such as numbers and codes, on average.
_SHORT = 16
_DEEPEST_COLUMN = 3


class _Broken(str):
    """A line that is no JSON."""

    __slots__ = ()


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from JSON or JSON lines. The title: a top-level `title` or `name`, else the file's name.

    A file that is not valid is read as it stands, in JSON lines a line. Rows are counted as lines of the file.
    """
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    if len(text) > 4 * MAX_CHARACTERS:
        check_extent(text[: MAX_CHARACTERS + 1])
    is_lines = name.lower().endswith((".jsonl", ".ndjson"))
    media_type = JSON_LINES if is_lines else JSON
    for write in (_write_lines, _write_whole) if is_lines else (_write_whole, _write_lines):
        writer = DocumentWriter()
        try:
            title = write(writer, text)
        except (ValueError, RecursionError):  # not valid, or nested too deeply for anyone to read
            continue
        return writer.document(media_type=media_type, name=name, titles=[title])
    return ParsedDocument(text=check_extent(text), media_type=media_type, title=stem(name))


def _loads(text: str) -> _Value:
    # Numbers as they were written: 1.10 stays that, and no number is too long.
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _write_whole(writer: DocumentWriter, text: str) -> str | None:
    value = _loads(text)
    _Sections(writer).write(value, level=_TOP)
    titles = [value.get(key) for key in ("title", "name")] if isinstance(value, dict) else []
    return next((title for title in titles if isinstance(title, str) and title.strip()), None)


def _write_lines(writer: DocumentWriter, text: str) -> None:
    """Records alike in lines that follow each other are one table, each other record is a section."""
    records = list(_records(text))
    if 2 * sum(isinstance(value, _Broken) for _, value in records) > len(records):
        raise ValueError("these are not lines of JSON")
    sections = _Sections(writer)
    run: list[tuple[int, dict[str, str]]] = []
    held: list[_Value] = []
    for number, value in [*records, (0, None)]:
        flat = _flat(value) if isinstance(value, dict) else None
        if run and (flat is None or number != run[-1][0] + 1):
            rows = record_rows([record for _, record in run])
            if rows:
                writer.table(rows, first_row=run[0][0] - 1)
            else:
                for (line, _), record in zip(run, held, strict=True):
                    sections.record(record, label=str(line), level=_TOP)
            run, held = [], []
        if flat is not None:
            run.append((number, flat))
            held.append(value)
        elif number:
            sections.record(value, label=str(number), level=_TOP)


def _records(text: str) -> Iterator[tuple[int, _Value]]:
    """The value in each line that is not blank, and the line's number."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, _loads(line)
            except (ValueError, RecursionError):
                yield number, _Broken(line)


class _Sections:
    """Writes values of any depth: first what fits into lines, then what is nested under headings."""

    def __init__(self, writer: DocumentWriter) -> None:
        self._writer = writer

    def write(self, value: _Value, *, level: int, label: str = "", prefix: str = "") -> None:
        """`label` is the key that the value stands under; `prefix` goes before keys that no heading names."""
        if isinstance(value, dict):
            self._object(value, level=level, prefix=prefix)
        elif isinstance(value, list):
            self._array(value, level=level, label=label)
        else:
            self._writer.block(_scalar(value))

    def record(self, value: _Value, *, label: str, level: int) -> None:
        """One of several values, under its own name or else the given one."""
        if not isinstance(value, dict | list):
            self._writer.block(_scalar(value))
        elif level > _DEEPEST_HEADING:
            self.write(value, level=level, label=label, prefix=f"{label}.")
        else:
            if isinstance(value, dict) and (called := _called(value)):
                label = value[called]
                value = {key: entry for key, entry in value.items() if key != called}
            self._writer.heading(label, level=level)
            self.write(value, level=level + 1)

    def _object(self, fields: Mapping[str, _Value], *, level: int, prefix: str) -> None:
        lines: list[str] = []
        texts: list[str] = []
        nested: list[tuple[str, _Value]] = []
        for key, value in fields.items():
            label = prefix + " ".join(key.split())
            line, flat = _line(value), _flat(value) if isinstance(value, dict) else None
            if line is not None:
                lines.append(f"{label}: {line}")
            elif isinstance(value, str):
                texts.append(f"{label}: {_scalar(value)}")
            elif flat and sum(map(len, (*flat, *flat.values()))) <= _LONG:
                lines += [f"{label}.{name}: {cell}" for name, cell in flat.items()]
            else:
                nested.append((label, value))
        for text in ("\n".join(lines), *texts):
            self._writer.block(text)
        for label, value in nested:
            self._under(label, value, level)

    def _under(self, label: str, value: _Value, level: int) -> None:
        if level <= _DEEPEST_HEADING:
            self._writer.heading(label, level=level)
            self.write(value, level=level + 1, label=label)
        else:
            self.write(value, level=level, label=label, prefix=f"{label}.")

    def _array(self, values: Sequence[_Value], *, level: int, label: str) -> None:
        flat = [_flat(value) if isinstance(value, dict) else None for value in values]
        records = [record for record in flat if record is not None]
        rows = record_rows(records) if len(records) == len(values) > 1 else None
        if label and level > _DEEPEST_HEADING and (rows or not any(isinstance(value, dict) for value in values)):
            self._writer.block(f"{label}:")
        if rows:
            self._writer.table(rows)
        elif all(isinstance(value, list) for value in values) and not _holds_object(values):
            # Coordinates, a matrix: the innermost arrays are lines.
            self._writer.block("\n".join(_innermost(values)))
        elif not any(isinstance(value, dict | list) for value in values) and _are_short(values):
            self._writer.block(", ".join(map(_scalar, values)))
        else:
            self._list(values, level=level, label=label)

    def _list(self, values: Sequence[_Value], *, level: int, label: str) -> None:
        for number, value in enumerate(values, start=1):
            if isinstance(value, dict | list):
                self.record(value, label=f"{label} {number}".strip(), level=level)
            elif len(text := _scalar(value)) > _LONG:
                self._writer.block(text)
            else:
                self._writer.item(text)


def _called(fields: Mapping[str, _Value]) -> str | None:
    """The key of what an object is called."""
    for key in _NAMES:
        name = fields.get(key)
        if isinstance(name, str) and len(name) <= _LONG and one_line(name):
            return key
    return None


def _scalar(value: _Value) -> str:
    if isinstance(value, str):
        return without_files(value)
    return {True: "true", False: "false", None: "null"}[value]


def _line(value: _Value) -> str | None:
    """A value that is read in one line, else None."""
    if isinstance(value, list):
        if any(isinstance(entry, dict | list) for entry in value):
            return None
        line = ", ".join(map(_scalar, value)) or "[]"
    elif isinstance(value, dict):
        return None if value else "{}"
    else:
        line = _scalar(value)
    return None if len(line) > _LONG or "\n" in line else line


def _flat(value: Mapping[str, _Value], depth: int = 1) -> dict[str, str] | None:
    """A record with the keys of objects within joined by dots, or None if one value holds several others."""
    flat: dict[str, str] = {}
    for key, entry in value.items():
        if isinstance(entry, dict) and entry:
            within = _flat(entry, depth + 1) if depth < _DEEPEST_COLUMN else None
            if within is None:
                return None
            flat.update({f"{key}.{name}": cell for name, cell in within.items()})
        elif isinstance(entry, list) and any(isinstance(part, dict | list) for part in entry):
            return None
        elif isinstance(entry, list):
            flat[key] = ", ".join(map(_scalar, entry))
        else:
            flat[key] = "" if entry is None or entry == {} else _scalar(entry)
    return flat


def _are_short(values: Sequence[_Value]) -> bool:
    """Whether scalars read better in one paragraph than as a list."""
    return sum(len(_scalar(value)) for value in values) <= _SHORT * len(values)


def _holds_object(values: Sequence[_Value]) -> bool:
    return any(isinstance(value, dict) or (isinstance(value, list) and _holds_object(value)) for value in values)


def _innermost(values: Sequence[_Value]) -> Iterator[str]:
    if any(isinstance(value, list) for value in values):
        for value in values:
            yield from _innermost(value if isinstance(value, list) else [value])
    else:
        yield ", ".join(map(_scalar, values))
