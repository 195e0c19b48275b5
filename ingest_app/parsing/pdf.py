"""PDF page by page: pdfium first, pypdf for the files that pdfium refuses."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

import pypdf
import pypdf.errors
import pypdfium2  # type: ignore[import-untyped]

from ingest_app.parsing.decoding import clean
from ingest_app.parsing.document import (
    MAX_CHARACTERS,
    Heading,
    PageStart,
    ParsedDocument,
    check_extent,
    one_line,
    title_from,
)
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.running_lines import without_running_lines

MAX_PAGES = 20_000
_MAX_BOOKMARKS = 10_000
_WRONG_PASSWORD, _UNKNOWN_PROTECTION = 4, 5
_NO_FORM = 0
# pdfium joins a word hyphenated over two lines and leaves this mark where the hyphen was.
_JOINED = re.compile("[\x02\ufffe]")
_HYPHENATED = re.compile(r"\b\w+(?:-\w+)+")
_WORD_END, _WORD_START = re.compile(r"\w+\Z"), re.compile(r"\A\w+")
# Ligatures and presentation forms are how glyphs look, not what was written. Full NFKC would also
# turn m² into m2.
_PRESENTATION_FORMS = re.compile("[\ufb00-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]")
_BULLETS = str.maketrans({"\uf0a7": "•", "\uf0b7": "•", "\uf0d8": "•", "\u00ad": None})
_NO_TITLES = {"untitled", "(anonymous)", "anonymous", "unspecified", "(unspecified)"}
_PRINTED_FROM = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - |\.(?:docx?|pptx?|xlsx?|pdf|indd|dvi|tex)$", re.I)


@dataclass(frozen=True, kw_only=True)
class _Bookmark:
    level: int
    title: str
    page: int


@dataclass(frozen=True, kw_only=True)
class _Content:
    """What either library found: the raw text of every page, the outline, the title property."""

    pages: list[str]
    bookmarks: list[_Bookmark] = field(default_factory=list)
    title: str = ""
    #: Encrypted, and what its pages draw could not be decrypted.
    is_locked: bool = False


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from PDF, with a heading for each bookmark of its outline."""
    try:
        found = _with_pdfium(content)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (_WRONG_PASSWORD, _UNKNOWN_PROTECTION):
            raise _encrypted() from error
        found = _with_pypdf(content)
    if not any(page.strip() for page in found.pages):
        if found.is_locked:
            raise _encrypted()
        raise UnableToParse(
            "The PDF is scanned: it has no text layer, so OCR it first and upload the result.", "scanned_pdf"
        )
    text, pages = _joined(without_running_lines(_readable(found.pages)))
    return ParsedDocument(
        text=check_extent(text),
        media_type="application/pdf",
        title=title_from(candidates=[_title(found.title)], name=name),
        headings=_headings(text, pages, found.bookmarks),
        pages=pages,
    )


def _with_pdfium(content: bytes) -> _Content:
    with pypdfium2.PdfDocument(content) as document:
        _check_pages(len(document))
        has_form = document.get_formtype() != _NO_FORM
        if has_form:
            document.init_forms()
        pages: list[str] = []
        for index in range(len(document)):
            pages.append(_pdfium_page(document, index, has_form=has_form))
            _check_extent(pages)
        bookmarks = []
        for bookmark in document.get_toc():
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            title = one_line(clean(bookmark.get_title()))
            if page is not None and title:
                bookmarks.append(_Bookmark(level=bookmark.level + 1, title=title, page=page))
            if len(bookmarks) >= _MAX_BOOKMARKS:
                break
        title = document.get_metadata_value("Title")
        return _Content(pages=pages, bookmarks=bookmarks, title=title, is_locked=_is_locked(document))


def _is_locked(document: pypdfium2.PdfDocument) -> bool:
    """Whether pages stayed blank because of encryption. A scanned page draws at least its picture."""
    if pypdfium2.raw.FPDF_GetSecurityHandlerRevision(document.raw) < 0:
        return False
    return any(next(document[index].get_objects(), None) is None for index in range(min(len(document), 10)))


def _pdfium_page(document: pypdfium2.PdfDocument, index: int, *, has_form: bool) -> str:
    page = document[index]
    try:
        if has_form:
            # What was filled in stands beside the page; flattening makes it part of the text.
            page.flatten()
            page.close()
            page = document[index]
        textpage = page.get_textpage()
        try:
            return str(textpage.get_text_bounded())
        finally:
            textpage.close()
    finally:
        page.close()


def _with_pypdf(content: bytes) -> _Content:
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _encrypted()
        _check_pages(len(reader.pages))
        pages: list[str] = []
        for page in reader.pages:
            pages.append(page.extract_text())
            _check_extent(pages)
        return _Content(pages=pages, title=(reader.metadata and reader.metadata.title) or "")
    except (UnableToParse, MemoryError):
        raise
    except (pypdf.errors.FileNotDecryptedError, pypdf.errors.DependencyError) as error:
        raise _encrypted() from error
    except Exception as error:  # whatever a broken file makes pypdf raise
        raise UnableToParse(
            "The PDF is damaged or was cut off: export or download it again and upload that.", "corrupt_file"
        ) from error


def _encrypted() -> UnableToParse:
    return UnableToParse("The PDF is encrypted: remove its password and upload it again.", "encrypted")


def _check_pages(count: int) -> None:
    if count > MAX_PAGES:
        raise UnableToParse(f"The PDF has more than {MAX_PAGES:,} pages: split it and upload the parts.", "too_large")


def _check_extent(pages: Sequence[str]) -> None:
    """Stop reading early; the exact bound is checked on the whole text."""
    if len(pages) % 50 == 0 and sum(map(len, pages)) > 2 * MAX_CHARACTERS:
        check_extent("x" * (MAX_CHARACTERS + 1))


def _readable(pages: Sequence[str]) -> list[str]:
    """The pages' text with ligatures dissolved, hyphenated words joined and lines trimmed."""
    words: set[str] = set()
    if any(_JOINED.search(page) for page in pages):
        words.update(word for page in pages for word in _HYPHENATED.findall(page.lower()))

    def hyphen(mark: re.Match[str]) -> str:
        first = _WORD_END.search(mark.string[max(0, mark.start() - 40) : mark.start()])
        second = _WORD_START.search(mark.string[mark.end() : mark.end() + 40])
        if first is None or second is None:
            return "-"
        # Was it a hyphen of the word or of the line? The rest of the document knows best.
        keep = f"{first[0]}-{second[0]}".lower() in words or not second[0][0].islower()
        return "-" if keep else ""

    readable = []
    for page in pages:
        text = _PRESENTATION_FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), page)
        text = clean(_JOINED.sub(hyphen, text).translate(_BULLETS))
        readable.append("\n".join(line.rstrip() for line in text.split("\n")).strip("\n"))
    return readable


def _joined(pages: Sequence[str]) -> tuple[str, tuple[PageStart, ...]]:
    """One text with a blank line between pages, and where each page starts. Blank pages are left out."""
    starts = []
    parts: list[str] = []
    offset = 0
    for number, page in enumerate(pages, start=1):
        if not page.strip():
            continue
        starts.append(PageStart(offset=offset, number=number))
        parts.append(page)
        offset += len(page) + 2
    return "\n\n".join(parts), tuple(starts)


def _headings(text: str, pages: Sequence[PageStart], bookmarks: Sequence[_Bookmark]) -> tuple[Heading, ...]:
    """The bookmarks whose words stand in a line of the page they point to, else at that page's start."""
    spans = {
        page.number: (page.offset, following.offset if following else len(text))
        for page, following in zip(pages, [*pages[1:], None], strict=True)
    }
    found: list[Heading] = []
    for bookmark in bookmarks:
        start, end = spans.get(bookmark.page + 1, (0, 0))
        after = found[-1].offset + 1 if found else 0
        words = r"\s+".join(map(re.escape, bookmark.title.split()))
        # A line that starts with it, or with a number before it ("3.1 Results").
        line = re.compile(rf"^(?:[\w.§()]{{1,12}}[^\S\n]+)?{words}", re.I | re.M)
        match = line.search(text, max(start, after), end)
        if match:
            found.append(Heading(offset=match.start(), level=bookmark.level, text=bookmark.title))
        elif start < end and start >= after:
            found.append(Heading(offset=start, level=bookmark.level, text=bookmark.title))
    return tuple(found)


def _title(value: str) -> str | None:
    title = _PRINTED_FROM.sub("", _PRINTED_FROM.sub("", clean(value).strip()))
    return None if title.lower() in _NO_TITLES else title
