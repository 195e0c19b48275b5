"""Electronic books: the chapters in the order of their spine, without the table of contents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import ParsedDocument
from ingest_app.parsing.epub_chapters import Chapter, read_chapter
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import EPUB
from ingest_app.parsing.package import Element, Package, damaged, resolved
from ingest_app.parsing.writing import DocumentWriter

_PACKAGE_TYPE = "application/oebps-package+xml"
_NO_CHAPTERS = ("audio/", "font/", "image/", "text/css", "video/")
#: What these do to fonts keeps nobody from reading.
_OBFUSCATIONS = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.I)
#: A chapter that guides call the table of contents is one when most of its text is links.
_LINKED = 0.5


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from EPUB. The title: of the book, else the first heading. Its authors are a property."""
    package = Package(content)
    path, book = _book(package)
    chapters = list(dict.fromkeys(_chapters(book, path)))
    protected = _protected(package)
    if protected.intersection(chapters):
        raise UnableToParse(
            "The book is copy-protected, its text is encrypted: upload an edition without DRM.", "encrypted"
        )
    contents = _contents(book, path)
    writer = DocumentWriter()
    headings: list[str] = []
    found = False
    for path_of_chapter in chapters:
        page = package.read(path_of_chapter)
        if page is None:
            continue  # a reader shows the rest of the book, too
        found = True
        chapter = _read(page)
        if path_of_chapter not in contents or chapter.linked < _LINKED:
            headings.extend(chapter.write(writer))
    if not found:
        raise damaged()
    titles = [next(_metadata(book, "title"), None), *headings[:1]]
    return writer.document(
        media_type=EPUB, name=name, titles=titles, properties={"author": ", ".join(_metadata(book, "creator"))}
    )


def _book(package: Package) -> tuple[str, Element]:
    """The package document, which lists what the book is made of, and its path."""
    container = package.xml("META-INF/container.xml", lenient=True)
    for root in () if container is None else container.iterfind("{*}rootfiles/{*}rootfile"):
        path = resolved(root.get("full-path", ""), base="")
        book = package.xml(path, lenient=True) if root.get("media-type", _PACKAGE_TYPE) == _PACKAGE_TYPE else None
        if book is not None:
            return path, book
    raise damaged()


def _chapters(book: Element, path: str) -> Iterator[str]:
    """The paths of the spine's documents, in order; navigation documents repeat headings and nothing else."""
    items = {item.get("id"): item for item in book.iterfind("{*}manifest/{*}item")}
    for reference in book.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type", "").startswith(_NO_CHAPTERS):
            continue
        if "nav" not in item.get("properties", "").split():
            yield resolved(item.get("href", ""), base=path)


def _contents(book: Element, path: str) -> set[str]:
    """The documents that the guide of an older book calls its table of contents."""
    references = book.iterfind("{*}guide/{*}reference")
    return {resolved(known.get("href", ""), base=path) for known in references if known.get("type") == "toc"}


def _protected(package: Package) -> set[str]:
    """The paths of what only the reader of a shop can decrypt."""
    encryption = package.xml("META-INF/encryption.xml", lenient=True)
    found = set()
    for data in () if encryption is None else encryption.iter("{*}EncryptedData"):
        method, reference = data.find("{*}EncryptionMethod"), data.find(".//{*}CipherReference")
        algorithm = "" if method is None else method.get("Algorithm", "")
        if reference is not None and algorithm not in _OBFUSCATIONS:
            found.add(resolved(reference.get("URI", ""), base=""))
    return found


def _read(page: bytes) -> Chapter:
    declared = _XML_ENCODING.search(page[:1024])
    text = decode(page, declared=declared[1].decode("ascii", "replace") if declared else None)
    if text is None:
        raise damaged()
    return read_chapter(text)


def _metadata(book: Element, name: str) -> Iterator[str]:
    """What the book says of itself under a name of the Dublin Core."""
    for element in book.iterfind(f"{{*}}metadata//{{http://purl.org/dc/elements/1.1/}}{name}"):
        words = " ".join("".join(element.itertext()).split())
        if words:
            yield words
