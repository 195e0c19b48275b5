"""Files in, text with headings and pages out. No Django here: it also runs in a bare child process.

A new format is one module with `parse(*, name, content)` and one line in `_PARSERS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from ingest_app.parsing import media_types
from ingest_app.parsing.document import Heading, PageStart, ParsedDocument, Rows
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import refusal, sniff

__all__ = ["Heading", "PageStart", "ParsedDocument", "Rows", "UnableToParse", "parse", "refusal", "sniff"]

# By module, so that reading Markdown does not load the PDF engine.
_PARSERS = {
    media_types.CSV: "ingest_app.parsing.delimited",
    media_types.DOCX: "ingest_app.parsing.docx",
    media_types.EML: "ingest_app.parsing.mail",
    media_types.EPUB: "ingest_app.parsing.epub",
    media_types.HTML: "ingest_app.parsing.html",
    media_types.JSON: "ingest_app.parsing.json_text",
    media_types.JSON_LINES: "ingest_app.parsing.json_text",
    media_types.MARKDOWN: "ingest_app.parsing.markdown",
    media_types.MSG: "ingest_app.parsing.outlook",
    media_types.NOTEBOOK: "ingest_app.parsing.notebook",
    media_types.ODT: "ingest_app.parsing.odt",
    media_types.ORG: "ingest_app.parsing.org",
    media_types.PDF: "ingest_app.parsing.pdf",
    media_types.PLAIN: "ingest_app.parsing.plain_text",
    media_types.PPTX: "ingest_app.parsing.pptx",
    media_types.RST: "ingest_app.parsing.rst",
    media_types.RTF: "ingest_app.parsing.rtf",
    media_types.SOURCE_CODE: "ingest_app.parsing.source_code",
    media_types.TSV: "ingest_app.parsing.delimited",
    media_types.XLSX: "ingest_app.parsing.xlsx",
    media_types.XML: "ingest_app.parsing.xml_text",
}


class Parser(Protocol):
    """What every format's module offers."""

    def __call__(self, *, name: str, content: bytes) -> ParsedDocument:
        """Read one file; `name` is only for its extension and its title. Raises UnableToParse."""


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """Read a file in this process. `name` may carry folders; it is never opened.

    Raises UnableToParse with a sentence for the user.
    """
    if not content.strip():
        raise UnableToParse("The file is empty: it holds no text to index.", "empty_file")
    media_type = sniff(name=name, content=content)
    if media_type is None:
        raise refusal(name=name, content=content)
    parser = cast("Parser", import_module(_PARSERS[media_type]).parse)
    return parser(name=name, content=content)
