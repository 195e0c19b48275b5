"""Jupyter notebooks: prose as it was written, code in fences, and what the code printed, within bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import ParsedDocument, title_from
from ingest_app.parsing.embedded import without_files
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.markdown import headings
from ingest_app.parsing.markup import without_markup
from ingest_app.parsing.media_types import NOTEBOOK
from ingest_app.parsing.writing import DocumentWriter

# Whatever a file holds where the format has a cell, an output or text.
_Value = Any
_LONGEST_OUTPUT = 2_000
_LONGEST_HTML = 500_000
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_TICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.M)
#: How Python shows what has no words of its own.
_OBJECT = re.compile(r"<[^\n]*>")
_WIDGET = "application/vnd.jupyter.widget-view+json"


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from a notebook of format 3 or 4. The title: the first H1, else that of the metadata."""
    text = decode(content)
    try:
        notebook = json.loads(text or "")
        cells = list(_cells(notebook))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UnableToParse(
            "The notebook is damaged or was cut off: open it in Jupyter, save it again and upload that.",
            "corrupt_file",
        ) from error
    writer = DocumentWriter()
    for cell in cells:
        _write(writer, cell, language=_language(notebook, cell))
    document = writer.document(media_type=NOTEBOOK, name=name)
    found = headings(document.text)
    titles = [heading.text for heading in found if heading.level == 1] + [_title(notebook)]
    return replace(document, headings=found, title=title_from(candidates=titles, name=name))


def _cells(notebook: _Value) -> Iterator[Mapping[str, _Value]]:
    sheets = notebook.get("worksheets")
    for sheet in [notebook] if sheets is None else sheets:
        for cell in sheet["cells"]:
            if not isinstance(cell, dict):
                raise TypeError("a cell is an object")
            yield cell


def _title(notebook: _Value) -> str:
    metadata = notebook.get("metadata")
    return _text(metadata.get("title", metadata.get("name"))) if isinstance(metadata, dict) else ""


def _language(notebook: _Value, cell: Mapping[str, _Value]) -> str:
    """What the code is written in, to stand at its fence."""
    metadata = notebook.get("metadata")
    parts = [cell]
    for key, within in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        parts.append({"language": part.get(within)} if isinstance(part, dict) else {})
    return next((name for part in parts if _LANGUAGE.fullmatch(name := _text(part.get("language")))), "")


def _text(value: _Value) -> str:
    """Text in one string or in a list of lines; nothing of anything else."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _write(writer: DocumentWriter, cell: Mapping[str, _Value], *, language: str) -> None:
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input")))
    if kind == "code":
        writer.block(_fenced(source, language))
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            if isinstance(output, dict):
                writer.block(_output(output))
    elif kind == "heading":  # of format 3
        level = cell.get("level")
        writer.block("#" * (min(max(level, 1), 6) if isinstance(level, int) else 1) + " " + " ".join(source.split()))
    else:
        writer.block(_closed(without_files(source)))


def _output(output: Mapping[str, _Value]) -> str:
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        return _fenced(f"{_text(output.get('ename'))}: {_bounded(_text(output.get('evalue')))}")
    if kind == "stream":
        return _fenced(_bounded(_text(output.get("text"))))
    data = output.get("data", output)  # format 3 has no level between
    if not isinstance(data, dict) or _WIDGET in data:
        return ""
    plain = _text(data.get("text/plain", data.get("text")))
    html = _text(data.get("text/html", data.get("html")))
    if markdown := _text(data.get("text/markdown")):
        return _closed(_bounded(without_files(markdown)))
    if plain.strip() and not _OBJECT.fullmatch(plain.strip()):
        return _fenced(_bounded(plain))
    return _fenced(_bounded(without_markup(html[:_LONGEST_HTML]) or _text(data.get("text/latex"))))


def _bounded(text: str) -> str:
    """What a terminal shows in the end: without colours, and of a progress bar its last state."""
    lines = _COLOUR.sub("", text).replace("\r\n", "\n").split("\n")
    shown = without_files("\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)).strip("\n")
    return shown if len(shown) <= _LONGEST_OUTPUT else shown[:_LONGEST_OUTPUT].rstrip() + " …"


def _fenced(text: str, language: str = "") -> str:
    """Nothing, or text within a fence that is longer than any in it."""
    if not text.strip():
        return ""
    ticks = "`" * max(3, *(len(run) + 1 for run in ["", *_TICKS.findall(text)]))
    return f"{ticks}{language}\n{text.strip(chr(10))}\n{ticks}"


def _closed(markdown: str) -> str:
    """A cell whose fence stays open to its end: it shall not take in the cells below."""
    opened = ""
    for fence in _FENCE.findall(markdown):
        if not opened:
            opened = fence
        elif fence.startswith(opened):
            opened = ""
    return f"{markdown}\n{opened}" if opened else markdown
