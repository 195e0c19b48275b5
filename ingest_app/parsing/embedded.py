"""Files written into text, such as images in base64: nobody reads them, and no index should."""

from __future__ import annotations

import re

#: Stands where a file stood.
LEFT_OUT = "…"
_DATA_URI = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,100}(?:;[\w=.+-]{1,60}){0,4};base64,[A-Za-z0-9+/=_%-]*")
_LEAST = 256
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
# Of so many digits in base 64 each kind is among them; sequences of genes or names lack one.
_KINDS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))


def without_files(text: str) -> str:
    """The text, with each data URI, or all of it where it is nothing but base64, left out."""
    if len(text) < _LEAST:
        return text
    bare = "".join(text.split()) if text[:_LEAST].count(" ") == 0 else text
    if _BASE64.fullmatch(bare) and all(kind.search(bare) for kind in _KINDS):
        return LEFT_OUT
    return _DATA_URI.sub(LEFT_OUT, text) if ";base64," in text else text
