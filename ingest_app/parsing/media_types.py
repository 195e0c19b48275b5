"""What a file is: by its content first, by its extension second. Nothing is unpacked here."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.decoding import encoding_of
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.languages import LANGUAGES

CSV = "text/csv"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EML = "message/rfc822"
EPUB = "application/epub+zip"
HTML = "text/html"
JSON = "application/json"
JSON_LINES = "application/jsonl"
MARKDOWN = "text/markdown"
MSG = "application/vnd.ms-outlook"
NOTEBOOK = "application/x-ipynb+json"
ODT = "application/vnd.oasis.opendocument.text"
ORG = "text/x-org"
PDF = "application/pdf"
PLAIN = "text/plain"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
RST = "text/x-rst"
RTF = "application/rtf"
SOURCE_CODE = "text/x-source"
TSV = "text/tab-separated-values"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
XML = "application/xml"
ZIP = "application/zip"

#: Plain text is known by its content; by these names it is expected.
_TEXT_EXTENSIONS = (".txt", ".text", ".log")
_BY_EXTENSION = {
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), DOCX),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), PPTX),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), XLSX),
    **dict.fromkeys((".htm", ".html", ".xhtml"), HTML),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mdx", ".mkd"), MARKDOWN),
    **dict.fromkeys((".rst", ".rest"), RST),
    **dict.fromkeys((".tsv", ".tab"), TSV),
    **dict.fromkeys((".jsonl", ".ndjson"), JSON_LINES),
    **dict.fromkeys((".json", ".geojson", ".webmanifest"), JSON),
    **dict.fromkeys((".xml", ".rss", ".atom"), XML),
    ".csv": CSV,
    ".eml": EML,
    ".epub": EPUB,
    ".ipynb": NOTEBOOK,
    ".msg": MSG,
    ".odt": ODT,
    ".org": ORG,
    ".pdf": PDF,
    ".rtf": RTF,
    ".zip": ZIP,
    **dict.fromkeys(LANGUAGES, SOURCE_CODE),
}
#: Formats that no text is: what has such a name goes by its content alone.
_NEVER_TEXT = {DOCX, EPUB, MSG, ODT, PDF, PPTX, RTF, XLSX, ZIP}
# Text on the outside, something else within: as plain text they would fill the index with markup.
_TEXT_WITHOUT_PARSER = {".mbox", ".mht", ".mhtml", ".ps", ".svg"}
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
#: With the path, which is empty where the host is all.
_URL = re.compile(r"https?://[^/?#]*([^?#]*)", re.I)
_PAGE_PROGRAMS = frozenset({".asp", ".aspx", ".cgi", ".jsp", ".php", ".pl"})
_HTML_START = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S)
_XML_START = re.compile(r"\s*<\?xml\s", re.I)
#: Two header lines or more, one of them of a name that only mail uses.
_MAIL_START = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)*"
    r"(?:Return-Path|Received|Message-ID|MIME-Version|Delivered-To):[^\n]*\n(?:[ \t][^\n]*\n)*[A-Za-z][A-Za-z0-9-]*:",
    re.I,
)
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_OUTLOOK = "__properties_version1.0".encode("utf-16-le")
#: What tells the archives of offices apart: an entry that each of the kind has.
_BY_ENTRY = {"word/document.xml": DOCX, "ppt/presentation.xml": PPTX, "xl/workbook.xml": XLSX}
_BY_MIMETYPE = {b"application/epub+zip": EPUB, b"application/vnd.oasis.opendocument.text": ODT}
_OF_OFFICES = {DOCX, EPUB, ODT, PPTX, XLSX}
_HEAD = 4096


def sniff(*, name: str, content: bytes) -> str | None:
    """The media type of the parser that reads this file, or None when there is none."""
    by_extension = _BY_EXTENSION.get(extension_of(name))
    head = content[:_HEAD]
    if not content:
        return by_extension
    if head.lstrip(b"\xef\xbb\xbf\0\t\n\f\r ").startswith(b"%PDF-") or (by_extension == PDF and b"%PDF-" in head):
        return PDF
    if content.startswith(_ZIP):
        return _archive_type(content, by_extension)
    if content.startswith(_OLE):
        return MSG if _OUTLOOK in content else None
    if content.startswith(b"{\\rtf"):
        return RTF
    encoding = encoding_of(content)
    if content.startswith(b"%!PS") or encoding is None:
        return None
    return _text_type(extension_of(name), by_extension, head.decode(encoding, "ignore").removeprefix("\ufeff"))


def refusal(*, name: str, content: bytes) -> UnableToParse:
    """Why `sniff` found no parser, and what the user can do about it."""
    extension = extension_of(name)
    if content.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in content:
            return UnableToParse("The file is encrypted: remove its password and upload it again.", "encrypted")
        return UnableToParse(
            "Old binary Office files are not supported: save it as DOCX, PPTX, XLSX or PDF and upload that.",
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
    if extension in _TEXT_EXTENSIONS:
        return UnableToParse(
            f"The file is named {extension} and holds no text: check which file it is.", "unsupported_type"
        )
    kind = f"Files of type {extension}" if extension else "Files of this type"
    return UnableToParse(
        f"{kind} are not supported: convert it to PDF, DOCX, HTML, Markdown or plain text.",
        "unsupported_type",
    )


def extension_of(name: str) -> str:
    """In lower case with its dot; empty without one, and where a URL ends with that of a program that answers."""
    url = _URL.match(name)
    extension = PurePosixPath(url[1] if url else name.replace("\\", "/")).suffix.lower()[:16]
    return "" if url and extension in _PAGE_PROGRAMS else extension


def _text_type(extension: str, by_extension: str | None, head: str) -> str | None:
    """Which of the formats that are text."""
    if by_extension == SOURCE_CODE:
        return by_extension  # PHP begins with the page that it is mixed with
    if by_extension == HTML or _HTML_START.match(head):
        return HTML
    if extension in _TEXT_WITHOUT_PARSER:
        return None
    if by_extension is not None and by_extension not in _NEVER_TEXT:
        return by_extension
    if _XML_START.match(head):
        return XML
    return EML if _MAIL_START.match(head) else PLAIN


def _archive_type(content: bytes, by_extension: str | None) -> str | None:
    """Which format a ZIP archive is. A broken one keeps its extension, for the parser to refuse."""
    try:
        with open_archive(content) as archive:
            names = set(archive.namelist())
            found = next((kind for entry, kind in _BY_ENTRY.items() if entry in names), None)
            if found is None and "mimetype" in names:
                with archive.open("mimetype") as file:
                    found = _BY_MIMETYPE.get(file.read(100).strip())
    except UnableToParse:
        return by_extension if by_extension in _OF_OFFICES | {ZIP} else None
    if found is None and "[Content_Types].xml" in names:
        # An office file whose main part has another name; of Word alone such ones are known.
        return DOCX if by_extension == DOCX else None
    return found or ZIP
