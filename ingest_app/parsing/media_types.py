"""What a file is: by its content first, by its extension second. Nothing is unpacked here."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.decoding import encoding_of
from ingest_app.parsing.errors import UnableToParse

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
HTML = "text/html"
MARKDOWN = "text/markdown"
PDF = "application/pdf"
PLAIN = "text/plain"

_BY_EXTENSION = {
    ".docm": DOCX,
    ".docx": DOCX,
    ".dotx": DOCX,
    ".htm": HTML,
    ".html": HTML,
    ".markdown": MARKDOWN,
    ".md": MARKDOWN,
    ".mdown": MARKDOWN,
    ".mdx": MARKDOWN,
    ".mkd": MARKDOWN,
    ".pdf": PDF,
    ".xhtml": HTML,
}
# Text on the outside, something else within: as plain text they would fill the index with markup.
_TEXT_WITHOUT_PARSER = {".eml", ".ipynb", ".mbox", ".mht", ".mhtml", ".ps", ".rtf", ".svg"}
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_HEAD = 4096


def sniff(*, name: str, content: bytes) -> str | None:
    """The media type of the parser that reads this file, or None when there is none."""
    extension = _extension(name)
    by_extension = _BY_EXTENSION.get(extension)
    head = content[:_HEAD]
    if not content:
        return by_extension
    if head.lstrip(b"\xef\xbb\xbf\0\t\n\f\r ").startswith(b"%PDF-") or (by_extension == PDF and b"%PDF-" in head):
        return PDF
    if content.startswith(_ZIP):
        return _archive_type(content, by_extension)
    if content.startswith((_OLE, b"{\\rtf", b"%!PS")) or encoding_of(content) is None:
        return None
    if by_extension == HTML or _HTML_START.match(head.removeprefix(b"\xef\xbb\xbf")):
        return HTML
    if extension in _TEXT_WITHOUT_PARSER:
        return None
    return MARKDOWN if by_extension == MARKDOWN else PLAIN


def refusal(*, name: str, content: bytes) -> UnableToParse:
    """Why `sniff` found no parser, and what the user can do about it."""
    extension = _extension(name)
    if content.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in content:
            return UnableToParse("The file is encrypted: remove its password and upload it again.", "encrypted")
        return UnableToParse(
            "Old binary Office files are not supported: save it as DOCX or PDF and upload that.",
            "unsupported_type",
        )
    claimed = _BY_EXTENSION.get(extension)
    if claimed == PDF:
        return UnableToParse(
            "The file is named .pdf and holds no PDF: export it again and upload that.", "corrupt_file"
        )
    if claimed:
        return UnableToParse(
            f"The file is named {extension} and holds something else: check which file it is.",
            "unsupported_type",
        )
    kind = f"Files of type {extension}" if extension else "Files of this type"
    return UnableToParse(
        f"{kind} are not supported: convert it to PDF, DOCX, HTML, Markdown or plain text.",
        "unsupported_type",
    )


def _extension(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()[:16]


def _archive_type(content: bytes, by_extension: str | None) -> str | None:
    """Which office format a ZIP archive is. A broken one keeps its extension, for the parser to refuse."""
    try:
        with open_archive(content) as archive:
            names = set(archive.namelist())
    except UnableToParse:
        return DOCX if by_extension == DOCX else None
    if "word/document.xml" in names or (by_extension == DOCX and "[Content_Types].xml" in names):
        return DOCX
    return None
