"""Bytes to characters: byte order marks, UTF-8, then a guess with a floor; and what no text may hold."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

# UTF-32 first: its little-endian mark starts with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 64 * 1024
# Random bytes hold about 10 % control bytes, text in any ASCII-based encoding next to none.
_MOST_CONTROL_BYTES = 0.08
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_LINE_ENDS = re.compile(r"\r\n?|[\f\v]")
# C0 controls, DEL, lone surrogates and the two non-characters that extractors leave behind; soft hyphens, which nobody
# sees and which hide the word that they divide.
_NEVER_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Text that Postgres and every reader accept: "\\n" line ends, no NUL, no lone surrogates."""
    return _NEVER_TEXT.sub("", _LINE_ENDS.sub("\n", text)).removeprefix("\ufeff")


def encoding_of(content: bytes, *, declared: str | None = None) -> str | None:
    """The encoding to read the content with, or None when it is no text.

    In order: byte order mark, what the content declares about itself (if it holds), UTF-8, and
    last a statistical guess over the first 64 KiB.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return encoding
    sample = content[:_SAMPLE]
    if len(sample) - len(sample.translate(None, _CONTROL_BYTES)) > _MOST_CONTROL_BYTES * len(sample):
        return None
    for candidate in (declared, "utf-8"):
        if candidate and _decodes(content, candidate):
            return candidate
    return _guess(sample.replace(b"\0", b""))


def decode(content: bytes, *, declared: str | None = None) -> str | None:
    """The content as clean text, or None when it is no text."""
    encoding = encoding_of(content, declared=declared)
    # A guess came from a sample, and marked files may be cut off: what does not fit is replaced.
    return None if encoding is None else clean(content.decode(encoding, errors="replace"))


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _guess(sample: bytes) -> str | None:
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return None
    if best.multi_byte_usage == 0:
        # Short Western texts fit a dozen code pages equally well; Windows-1252 is by far the commonest.
        for match in matches:
            if "cp1252" in (match.encoding, *match.could_be_from_charset) and (match.coherence >= best.coherence):
                return "cp1252"
    return best.encoding
