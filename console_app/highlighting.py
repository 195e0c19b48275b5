"""Marks what a search says it found, so that a reader sees why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core_app.names import readable


def marked(text: str, ranges: Sequence[tuple[int, int]], *, start: int = 0, end: int | None = None) -> SafeString:
    """The part of a text from `start` to `end`, escaped, with these ranges of characters of the whole in `<mark>`.

    Ranges are ascending and do not overlap; nothing of the text is taken as markup.
    """
    return format_html_join(
        "", "{}", ((piece,) for piece in _pieces(text, ranges, start, len(text) if end is None else end))
    )


def _pieces(text: str, ranges: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[SafeString]:
    position = start
    for first, last in ranges:
        first, last = max(first, start), min(last, end)
        if first < last:
            yield format_html("{}", readable(text[position:first]))
            yield format_html('<mark class="rs-mark">{}</mark>', readable(text[first:last]))
            position = last
    yield format_html("{}", readable(text[position:end]))
