"""What the query log keeps of a text: nothing that says who asked, or a hash that only this server can make."""

from __future__ import annotations

import re
import unicodedata

from django.utils.crypto import salted_hmac

_SALT = "search_app.query_log"

#: Straight, English, German, French and back quotes. An apostrophe within a word begins and ends nothing.
_QUOTED = re.compile(
    r"""
    "[^"]*"
    | [\u201c\u201d\u201e][^\u201c\u201d\u201e]*[\u201c\u201d]
    | [\u00ab\u00bb][^\u00ab\u00bb]*[\u00ab\u00bb]
    | \u2018[^\u2018\u2019]*\u2019
    | `[^`]*`
    | (?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\S+")
_ADDRESS = re.compile(r"[^@]@[^@]")
_TOKEN = re.compile(r"[!-~]{16,}")
_LONG_TOKEN = 32
#: Four digits or more, alone or as people group them: 4711, 030 12 34, 1.000.000, 2026-11-22.
_NUMBER = re.compile(r"\d(?:[ .,:/-]?\d){3,}")


def hashed(text: str) -> str:
    """A hash of the normalised text, equal for equal questions; without the server's secret key no dictionary helps."""
    return salted_hmac(_SALT, _normalised(text), algorithm="sha256").hexdigest()


def masked(text: str) -> str:
    """The words, with a placeholder for whatever may name a person or open a door."""
    shown = _QUOTED.sub("[quoted]", storable(unicodedata.normalize("NFKC", text)))
    shown = _WORD.sub(_without_address, shown)
    shown = _TOKEN.sub(_without_secret, shown)
    return _NUMBER.sub("[number]", shown)


def storable(text: str) -> str:
    """Without what Postgres refuses in a text, or nobody sees in one: controls, surrogates, characters of no width."""
    spaced = " ".join(text.split())
    return "".join(character for character in spaced if unicodedata.category(character) not in {"Cc", "Cf", "Cs"})


def _normalised(text: str) -> str:
    return " ".join(storable(unicodedata.normalize("NFKC", text)).casefold().split())


def _without_address(word: re.Match[str]) -> str:
    return "[email]" if _ADDRESS.search(word[0]) else word[0]


def _without_secret(token: re.Match[str]) -> str:
    found = token[0]
    mixed = any(c.isdigit() for c in found) and any(c.isalpha() for c in found)
    return "[secret]" if mixed or len(found) >= _LONG_TOKEN else found
