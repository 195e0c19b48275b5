"""Any XML as text: what its elements are is told by how they are built, for their names mean nothing here.

Elements that hold others are sections if they have a title. Siblings alike whose children are values are
records. Text with elements within is a paragraph. A few names of books and pages are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import groupby
from typing import Any

from ingest_app.parsing.embedded import without_files
from ingest_app.parsing.grids import record_rows
from ingest_app.parsing.markup import local_name, visible
from ingest_app.parsing.writing import DocumentWriter

# lxml elements carry no types.
_Element = Any

_TITLES = {"title", "head", "heading", "caption"}
_TITLE_ATTRIBUTES = ("title", "heading", "label", "name")
_LINES = {"l", "line", "verse"}
_ITEMS = {"li", "item", "listitem"}
_CODE = {"literallayout", "pre", "programlisting", "screen"}
_PROSE = {"ab", "blockquote", "entry", "formalpara", "p", "para", "paragraph", "quote", "simpara", "td", "th"}
_TABLES = {"informaltable", "table", "tgroup"}
_TABLE_ROWS = {"row", "tr"}
_TABLE_CELLS = {"cell", "entry", "td", "th"}
_BLOCKS = {*_LINES, *_ITEMS, *_CODE, *_PROSE, *_TABLES}
#: Attributes for programs.
_MACHINE = {"class", "id", "lang", "role", "style", "type", "version"}
_LONG = 200
_DEEPEST_FIELD = 3


def write_elements(writer: DocumentWriter, root: _Element) -> str | None:
    """Writes all of it and says its first title."""
    elements = _Elements(writer)
    elements.write(root, level=1)
    return elements.title


class _Elements:
    """Writes elements of any kind; what was written ahead of its place is in `_done`."""

    def __init__(self, writer: DocumentWriter) -> None:
        self.title: str | None = None
        self._writer = writer
        self._done: set[_Element] = set()

    def write(self, element: _Element, *, level: int) -> None:
        """One element and all within; its title has the given level."""
        name = local_name(element)
        rows = _positional(element) if name in _TABLES else []
        if not name or element in self._done:
            return
        if rows:
            self._write_title(element, level)
            self._writer.table(rows)
        elif name in _CODE:
            self._writer.block("```\n" + "".join(element.itertext()).strip("\n") + "\n```")
        elif name in _ITEMS:
            self._write_item(element, depth=0)
        elif _is_mixed(element) or not len(element):
            self._write_paragraph(element, level)
        else:
            self._write_container(element, level)

    def _write_container(self, element: _Element, level: int) -> None:
        title = self._write_title(element, level)
        level += bool(title)
        lines = _Lines(self._writer)
        for key, value in _attributes(element).items():
            if key.lower() not in _MACHINE and value != title:
                lines.add(key, value)
        for name, siblings in groupby(element, key=local_name):
            run = [sibling for sibling in siblings if name and sibling not in self._done]
            if name in _LINES:
                lines.flush()
                self._writer.block("\n".join(map(_inline, run)))
            elif name in _BLOCKS:
                lines.flush()
                for child in run:
                    self.write(child, level=level)
            else:
                self._write_run(run, lines, level)
        lines.flush()

    def _write_run(self, run: list[_Element], lines: _Lines, level: int) -> None:
        """Siblings of one name: values, records, or whatever they are."""
        if not any(len(element) or element.attrib for element in run):
            for element in run:
                lines.add(_key(element), _value(element.text or ""))
            return
        fields = [_fields(element, self._done) for element in run]
        records = [record for record in fields if record is not None]
        if len(records) == len(run) > 1 and any(set(record) != {""} for record in records):
            lines.flush()
            self._write_records([_named(_key(run[0]), record) for record in records], level)
            return
        for element, record in zip(run, fields, strict=True):
            if record is None:
                lines.flush()
                self.write(element, level=level)
            else:
                # Facts about a whole document or section stand in an element that says no more than that.
                prefix = "" if local_name(element).endswith("info") else f"{_key(element)}."
                for key, value in record.items():
                    lines.add(prefix + key if key else _key(element), value)

    def _write_records(self, records: list[dict[str, str]], level: int) -> None:
        rows = record_rows(records)
        if rows:
            self._writer.table(rows)
            return
        for record in records:
            called = next((key for key in record if key.lower() in (*_TITLES, "name")), None)
            if called and len(record[called]) <= _LONG:
                self._writer.heading(record.pop(called), level=level)
            lines = _Lines(self._writer)
            for key, value in record.items():
                lines.add(key, value)
            lines.flush()

    def _write_title(self, element: _Element, level: int) -> str:
        """Writes the title of an element and says it, empty if it has none."""
        inside = [element, *(child for child in element if local_name(child).endswith("info"))]
        found = next((c for e in inside for c in e if local_name(c) in _TITLES and _is_title(c)), None)
        if found is not None:
            self._done.add(found)
            title = _inline(found)
        else:
            title = next(filter(None, map(_attributes(element).get, _TITLE_ATTRIBUTES)), "")
            title = title if len(title) <= _LONG else ""
        self._writer.heading(title, level=level)
        self.title = self.title or title or None
        return title

    def _write_paragraph(self, element: _Element, level: int) -> None:
        """Text, and between its stretches what does not stand within a line."""
        running = [element.text or ""]
        for child in element:
            if _is_block(child):
                self._writer.block(_value("".join(running)))
                self.write(child, level=level)
                running = []
            else:
                running.append("".join(child.itertext()) if local_name(child) else child.text or "")
            running.append(child.tail or "")
        self._writer.block(_value("".join(running)))

    def _write_item(self, element: _Element, depth: int) -> None:
        running, nested = [element.text or ""], []
        for child in element:
            if local_name(child) in _ITEMS or any(local_name(part) in _ITEMS for part in child):
                nested.append(child)
            else:
                running += [" " if _is_block(child) else "", "".join(child.itertext())]
            running += [" " if _is_block(child) else "", child.tail or ""]
        self._writer.item(_value("".join(running)), depth=depth)
        for child in nested:
            for item in [child] if local_name(child) in _ITEMS else child:
                self._write_item(item, depth + 1)


class _Lines:
    """Collects `key: value` lines that stand together; long values stand by themselves."""

    def __init__(self, writer: DocumentWriter) -> None:
        self._writer = writer
        self._lines: dict[str, list[str]] = {}

    def add(self, key: str, value: str) -> None:
        if len(value) > _LONG or "\n" in value:
            self.flush()
            self._writer.block(f"{key}: {value}")
        elif value:
            self._lines.setdefault(key, []).append(value)

    def flush(self) -> None:
        self._writer.block("\n".join(f"{key}: {', '.join(values)}" for key, values in self._lines.items()))
        self._lines = {}


def _fields(element: _Element, done: Set[_Element], depth: int = 1) -> dict[str, str] | None:
    """A record's values by their names, those of elements within joined by dots; its own text has no name.

    None for what is more than that, such as a section. What is in `done` is left out.
    """
    if local_name(element) in _BLOCKS or not local_name(element):
        return None
    fields = {key: [value] for key, value in _attributes(element).items()}
    if _is_mixed(element) or not len(element):
        if any(_is_block(child) for child in element):
            return None
        fields[""] = [_inline(element)]
        return _joined(fields)
    if depth > _DEEPEST_FIELD:
        return None
    records: set[str] = set()
    for child in element:
        if not len(child) and not child.attrib and local_name(child) not in _BLOCKS and child not in done:
            fields.setdefault(_key(child), []).append(_value(child.text or ""))
            continue
        within = {} if child in done else _fields(child, done, depth + 1)
        if within is None or _key(child) in records or (set(within) - {""} and _key(child) in fields):
            return None  # several records within one
        if set(within) - {""}:
            records.add(_key(child))
        for key, value in within.items():
            fields.setdefault(f"{_key(child)}.{key}" if key else _key(child), []).append(value)
    return _joined(fields)


def _joined(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """Without fields that are empty, but of the element's own text."""
    return {key: ", ".join(filter(None, values)) for key, values in fields.items() if key == "" or any(values)}


def _named(name: str, record: Mapping[str, str]) -> dict[str, str]:
    return {key or name: value for key, value in record.items() if key or value}


def _positional(table: _Element) -> list[list[str]]:
    """Rows of cells that go by their place, or nothing if the table is of another kind."""
    rows = [list(row) for row in table.iter("{*}*") if local_name(row) in _TABLE_ROWS]
    if not all(local_name(cell) in _TABLE_CELLS for row in rows for cell in row if local_name(cell)):
        return []
    return [[_inline(cell) for cell in row if local_name(cell)] for row in rows]


def _attributes(element: _Element) -> dict[str, str]:
    """Without those of a namespace, such as xml:lang and xsi:schemaLocation."""
    return {key: _value(text) for key, text in element.attrib.items() if not key.startswith("{") and text.strip()}


def _key(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _inline(element: _Element) -> str:
    return _value("".join(element.itertext()))


def _value(text: str) -> str:
    """Text in one line, without markup of HTML; that of several paragraphs stays several."""
    return visible(without_files(" ".join(text.split())))


def _is_mixed(element: _Element) -> bool:
    """Whether there is text beside elements; references to entities are text."""
    texts: Iterable[str | None] = (element.text, *(child.tail for child in element))
    return len(element) > 0 and (
        any(text and text.strip() for text in texts) or any(not local_name(child) for child in element)
    )


def _is_block(element: _Element) -> bool:
    return local_name(element) in _BLOCKS or any(local_name(child) in _BLOCKS | _TITLES for child in element)


def _is_title(element: _Element) -> bool:
    return not _is_block(element) and 0 < len(_inline(element)) <= _LONG
