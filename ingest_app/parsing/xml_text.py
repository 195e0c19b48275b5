"""XML as text: sections where elements have titles, tables of records, `key: value` lines, paragraphs.

Names of elements and attributes appear only as keys of values, without their namespaces.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument, check_extent, stem
from ingest_app.parsing.elements import write_elements
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.feeds import is_feed, write_feed
from ingest_app.parsing.media_types import XML
from ingest_app.parsing.writing import DocumentWriter

# lxml elements carry no types.
_Element = Any

_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.I)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,30};)")
_ENTITY_DECLARED = re.compile(r"<!ENTITY\s+([\w.-]{1,100})\s")
_OF_XML = {"amp;", "lt;", "gt;", "quot;", "apos;"}
#: Marks that are none, `R&D` and `a < b`, but not within what is no markup either.
_STRAY = re.compile(
    r"(?P<whole><!\[CDATA\[(?:.*?\]\]>|.*)|<!--(?:.*?-->|.*))|"
    r"&(?![A-Za-z][\w.-]*;|#\d+;|#x[0-9a-f]+;)|<(?![A-Za-z_:/!?])",
    re.I | re.S,
)
#: What a reader of the text never sees. An end that is missing is the end of the file.
_UNSEEN = re.compile(r"<!--(?:.*?-->|.*)|<\?(?:.*?\?>|.*)|<!DOCTYPE[^\[<>]*(?:\[[^\]]*\][^<>]*)?>", re.S | re.I)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_TAG = re.compile(r"</?[A-Za-z_:][^<>]*>")
#: A tree that lost more than this of the characters was not recovered.
_MIN_SHARE = 0.98


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from XML or a feed. The title: its first heading, else the file's name.

    Broken XML is repaired as far as nothing gets lost, else read without its tags, and so is what is nested
    more deeply than people write. External entities are never read, internal ones keep their names.
    """
    declared = _ENCODING.match(content[:400])
    source = decode(content, declared=declared[1].decode() if declared else None)
    if source is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    if len(source) > 4 * MAX_CHARACTERS:
        check_extent(source[: MAX_CHARACTERS + 1])
    source = _with_characters(_DECLARATION.sub("", source))
    writer = DocumentWriter()
    try:
        root = _tree(source)
        if root is None:
            raise ValueError("no tree")
        title = write_feed(writer, root) if is_feed(root) else write_elements(writer, root)
        return writer.document(media_type=XML, name=name, titles=[title])
    except (ValueError, RecursionError):
        text = check_extent(_without_tags(source))
        return ParsedDocument(text=text, media_type=XML, title=stem(name))


def _with_characters(source: str) -> str:
    """The characters that HTML has names for; XML has none for them unless a document type says so."""
    declared = _OF_XML | {f"{name};" for name in _ENTITY_DECLARED.findall(source)}
    return _ENTITY.sub(lambda entity: entity[0] if entity[1] in declared else html5.get(entity[1], entity[0]), source)


def _tree(source: str) -> _Element | None:
    """The root element, or None where reading it as XML would lose words."""
    root, is_sound = _recovered(_STRAY.sub(_escaped, source))
    if root is None or is_sound:
        return root
    kept = sum(len("".join(text.split())) for text in root.itertext())
    return root if kept >= _MIN_SHARE * len("".join(_without_tags(source).split())) else None


def _escaped(stray: re.Match[str]) -> str:
    return stray["whole"] or ("&amp;" if stray[0] == "&" else "&lt;")


def _recovered(source: str) -> tuple[_Element | None, bool]:
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    try:
        root = etree.fromstring(source.encode(), parser)
    except etree.XMLSyntaxError:  # not even a root, or no memory left to build it
        return None, False
    return root, not len(parser.error_log)


def _without_tags(source: str) -> str:
    text = _TAG.sub("\n", _CDATA.sub("", _UNSEEN.sub("", source)))
    lines = (" ".join(line.split()) for line in unescape(text).split("\n"))
    return "\n".join(line for line in lines if line)
