"""HTML that other formats carry within, and the names of XML elements."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ingest_app.parsing.html_text import VisibleText

_TAG = re.compile(r"</?(?:a|b|br|div|em|h[1-6]|i|img|li|ol|p|span|strong|table|u|ul)\b[^<>]*>", re.I)


def visible(text: str) -> str:
    """Text of which some is HTML, without it; other text as it is."""
    return without_markup(text) if _TAG.search(text) else text


def without_markup(html: str) -> str:
    """What is seen of HTML, with Markdown marks for headings, items and cells."""
    reader = VisibleText()
    reader.feed(html)
    reader.close()
    return reader.text


def local_name(element: Any) -> str:
    """The name of an lxml element in small letters without its namespace; nothing for what is no element."""
    tag = element.tag
    return _local(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=10_000)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2].lower()
