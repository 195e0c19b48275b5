"""In which encoding an archive's names are that declare none, as those of old programs on Windows do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ingest_app.parsing.decoding import encoding_of

#: What the standard says, and what every archive can be read with.
_STANDARD = "cp437"
# Of these languages a guess by statistics is good enough even for a few characters.
_TRUSTED_GUESSES = {"cp932": "cp932", "shift_jis": "cp932", "cp949": "cp949", "johab": "cp949", "euc_kr": "cp949"}
_CANDIDATES = (_STANDARD, "cp850", "cp866", "cp1251", "cp1252", "gb2312", "gb18030", "big5", "cp949", "cp932")
_SAMPLE = 8192
_WORD = re.compile(r"[^\W\d_]+")
# Two capitals and a small letter, or a small letter and a capital with an accent, stand in no word.
_NO_WORD = re.compile("[CF][CF]s|sF")
_FOREIGN_RUN = re.compile(r"[^\x00-\x7f]+")
# By the first word of their letters' names. Korean file names mix with no Chinese.
_EAST_ASIAN = ({"HANGUL"}, {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})


def encoding_of_names(names: Iterable[bytes]) -> str:
    """An encoding in which the names are words as people write them, else the standard's."""
    foreign = _sample(name for name in names if not name.isascii())
    if not foreign or _decoded(foreign, "utf-8") is not None:
        return "utf-8"
    guess = _TRUSTED_GUESSES.get(encoding_of(foreign) or "")
    for candidate in (guess, *_CANDIDATES):
        text = _decoded(foreign, candidate) if candidate else None
        if candidate and text is not None and _reads_well(text):
            return candidate
    return _STANDARD


def _sample(names: Iterable[bytes]) -> bytes:
    """Whole names, as many as tell enough; a name may take 64 KiB."""
    sample = b""
    for name in names:
        sample += name[-_SAMPLE:] + b"\n"
        if len(sample) > _SAMPLE:
            break
    return sample


def _decoded(names: bytes, encoding: str) -> str | None:
    try:
        return names.decode(encoding)
    except UnicodeDecodeError:
        return None


def _reads_well(text: str) -> bool:
    """Whether all that is not ASCII is letters, in words of one script each."""
    are_letters = all(c.isascii() or unicodedata.category(c) in ("Ll", "Lu", "Lo", "Lm") for c in text)
    return are_letters and all(word.isascii() or _is_word(word) for word in _WORD.findall(text))


def _is_word(word: str) -> bool:
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c in word}
    for east_asian in _EAST_ASIAN:
        if scripts & east_asian:
            # Bytes of other scripts form a character by accident, hardly two in a row.
            return scripts <= east_asian | {"LATIN"} and all(len(run) > 1 for run in _FOREIGN_RUN.findall(word))
    return len(scripts) == 1 and not _NO_WORD.search("".join(map(_kind, word)))


def _kind(letter: str) -> str:
    if letter.islower():
        return "s"
    return "C" if letter.isascii() or unicodedata.name(letter, "").startswith("CYRILLIC") else "F"
