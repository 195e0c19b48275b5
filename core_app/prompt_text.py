"""Texts of others as a chat model is shown them: data, in which nothing looks like a mark of the conversation."""

from __future__ import annotations

import re

#: What the template of a chat model could take for a mark of its own, such as <|im_end|> or [INST], what could be taken
#: for the head of a field, such as [[ ## answer ## ]], and what some readers take for the end of a line.
_MARKS = re.compile(r"<|\[(?=/?[A-Z_]+\])|\[(?=\[\s*##)|[\x7f-\x9f\u2028\u2029\ufeff]")


def harmless(text: str) -> str:
    """The text with such marks escaped as JSON would; half of a pair of surrogates is no text."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _MARKS.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)
