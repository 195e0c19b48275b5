"""Windows of equal size over a text, cut between words and regardless of what stands in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: A word with the white space after it; a longer run of characters is cut.
_WORD = re.compile(r"\S{1,16}\s*")


def window_spans(
    text: str, *, size: int, overlap: int, count_tokens: Callable[[str], int], check: Callable[[], None]
) -> Iterator[tuple[int, int]]:
    """Half-open ranges of at most `size` tokens, each repeating up to `overlap` tokens of the one before."""
    start = 0
    #: Where each word of the window starts, and how many tokens it has.
    words: list[tuple[int, int]] = []
    taken = 0
    for match in _WORD.finditer(text):
        tokens = count_tokens(match[0])
        if words and taken + tokens > size:
            check()
            yield start, match.start()
            while words and (taken > overlap or taken + tokens > size):
                taken -= words.pop(0)[1]
            start = words[0][0] if words else match.start()
        elif not words:
            start = match.start()
        words.append((match.start(), tokens))
        taken += tokens
    if words:
        yield start, len(text)
