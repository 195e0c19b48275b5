"""One spelling for what means the same: Unicode forms, case, and terms of bounded length."""

from __future__ import annotations

import hashlib
import unicodedata

#: Characters of the longest term kept as it is. Anything longer is no word, and index rows are small.
LONGEST_TERM = 120

_TYPOGRAPHY = str.maketrans({"\u00ad": None, "\u2010": "-", "\u2019": "'", "\u02bc": "'"})


def normalise(text: str) -> str:
    """Compatibility forms composed (NFKC), soft hyphens gone, hyphens and apostrophes plain."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)


def fold(word: str) -> str:
    """Without case. A dotted capital I folds to two characters in Unicode; here to a plain i."""
    folded = word.casefold()
    return folded if folded.isascii() else folded.replace("i\u0307", "i")


def bounded(term: str) -> str:
    """`term`, or for a very long one its beginning and a hash of the whole."""
    if len(term) <= LONGEST_TERM:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=8).hexdigest()
    return f"{term[: LONGEST_TERM - len(digest) - 1]}#{digest}"
