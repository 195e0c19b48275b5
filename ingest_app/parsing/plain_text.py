"""Plain text, and every text format that is read as it stands."""

from __future__ import annotations

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import ParsedDocument, check_extent, stem
from ingest_app.parsing.errors import UnableToParse


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document without headings, named after its file."""
    text = decode(content)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    return ParsedDocument(text=check_extent(text), media_type="text/plain", title=stem(name))
