"""RSS and Atom: each entry under its title, with its date, its author, its link and its text without markup."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from ingest_app.parsing.markup import local_name, visible, without_markup
from ingest_app.parsing.writing import DocumentWriter

# lxml elements carry no types.
_Element = Any

_ROOTS = {"rss", "feed", "rdf"}
_ENTRIES = {"item", "entry"}
#: Text of an entry, the fullest first.
_TEXTS = ("encoded", "content", "description", "summary")
#: For programs: identifiers, counters, addresses of other feeds.
_MACHINE = {
    *("guid", "id", "post-id", "comments", "commentrss", "updateperiod", "updatefrequency", "updatebase"),
    *("generator", "cloud", "ttl", "docs", "image", "icon", "logo", "thumbnail", "language", "items"),
}
#: Of elements and their ends: `<xhtml:p>`.
_PREFIX = re.compile(r"(</?)[\w.-]{1,40}:")
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_ENTRY_LEVEL = 2
_DEEPEST_HEADING = 6
#: So many words tell whether a text begins as another does.
_OPENING = 12
_MOST_VALUES = 100


def is_feed(root: _Element) -> bool:
    """Whether a document is a feed with something in it."""
    return local_name(root) in _ROOTS and any(local_name(child) in _ENTRIES for child in root.iter("{*}*"))


def write_feed(writer: DocumentWriter, root: _Element) -> str | None:
    """Writes all of it and says its title."""
    channel = next((child for child in root if local_name(child) == "channel"), root)
    title = _first(channel, "title")
    writer.heading(title, level=1)
    writer.block(_first(channel, "description", "subtitle"))
    _write_facts(writer, channel)
    # In RSS 1.0 the items stand beside the channel.
    for parent in [channel] if channel is root else [channel, root]:
        for entry in parent:
            if local_name(entry) in _ENTRIES:
                _write_entry(writer, entry)
    return title


def _first(element: _Element, *names: str) -> str:
    """The text of the first child of one of these names that has any."""
    for name in names:
        for child in element:
            if local_name(child) == name and (text := _text(child)):
                return text
    return ""


def _text(element: _Element) -> str:
    """Words, without the markup that is spelled out in them or, in XHTML, stands around them."""
    if len(element):
        inner = etree.tostring(element, encoding="unicode", with_tail=False)
        return without_markup(_PREFIX.sub(r"\1", inner))
    return unescape(visible((element.text or "").strip()))


def _write_entry(writer: DocumentWriter, entry: _Element) -> None:
    texts = [text for name in _TEXTS if (text := _first(entry, name))]
    # An entry without a title is called by its first words.
    writer.heading(" ".join((_first(entry, "title") or next(iter(texts), "")).split()), level=_ENTRY_LEVEL)
    _write_facts(writer, entry)
    written = ""
    for text in texts:
        opening = " ".join(text.split()[:_OPENING])
        if opening not in written:  # a summary is most often how the text begins
            _write_text(writer, text)
            written += " ".join(text.split()) + " "


def _write_text(writer: DocumentWriter, text: str) -> None:
    """The highest headings within, whatever their level, are those below the entry's."""
    blocks = [(block, _HEADING.fullmatch(block.strip())) for block in text.split("\n\n")]
    highest = min((len(heading[1]) for _, heading in blocks if heading), default=1)
    for block, heading in blocks:
        if heading:
            level = _ENTRY_LEVEL + 1 + len(heading[1]) - highest
            writer.heading(heading[2], level=min(level, _DEEPEST_HEADING))
        elif block.strip("# "):
            writer.block(block)


def _write_facts(writer: DocumentWriter, element: _Element) -> None:
    """Date, author, link, categories and whatever else is said in few words."""
    facts: dict[str, list[str]] = {}
    for child in element:
        name = local_name(child)
        if name and name not in _MACHINE | _ENTRIES and name not in ("title", "subtitle", *_TEXTS):
            value = _fact(child)
            found = facts.setdefault(child.tag.rpartition("}")[2], [])
            if value and value not in found[:_MOST_VALUES]:
                found.append(value)
    writer.block("\n".join(f"{key}: {', '.join(values)}" for key, values in facts.items() if values))


def _fact(element: _Element) -> str:
    if element.get("href"):
        return str(element.get("href")) if element.get("rel", "alternate") == "alternate" else ""
    own = (_text(part) for part in element.iter("{*}*") if not len(part))
    words = ", ".join(" ".join(text.split()) for text in own if text)
    return words or str(element.get("label") or element.get("term") or "")
