"""Marks the words of a query in a passage, so that a reader sees why it was found."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

MOST_TERMS = 50
SHORTEST_TERM = 3
#: Words that are in every passage; marking them would hide the ones that matter.
COMMON = frozenset(
    re.findall(
        r"\w+",
        "about all and any are because been but can did does for from had has have her his how into its may not off "
        "one our out over she should some such than that the their them then there these they this those through was "
        "were what when where which who why will with would you your",
    )
)
#: Letters that may follow a term in the text, so that `chunk` marks `chunks` and `chunked` too.
_ENDING = r"\w{0,3}"


def highlight(text: str, query: str) -> SafeString:
    """The text escaped, with the query's words inside `<mark>`; nothing of either is taken as markup."""
    words = dict.fromkeys(re.findall(r"\w+", query.lower()))
    terms = [word for word in words if len(word) >= SHORTEST_TERM and word not in COMMON]
    if not terms:
        return format_html("{}", text)
    # Longest first: an alternation takes the first branch that fits.
    alternatives = "|".join(re.escape(term) for term in sorted(terms[:MOST_TERMS], key=len, reverse=True))
    pieces = re.split(rf"\b((?:{alternatives}){_ENDING})\b", text, flags=re.IGNORECASE)
    return format_html_join("", "{}", ((_piece(piece, marked=bool(index % 2)),) for index, piece in enumerate(pieces)))


def _piece(text: str, *, marked: bool) -> SafeString:
    return format_html('<mark class="rs-mark">{}</mark>' if marked else "{}", text)
