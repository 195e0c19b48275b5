"""Tokens of a text, where the model that reads it is elsewhere: an estimate that is rather too high than too low."""

from __future__ import annotations

import re

#: Letters of one token of English, and digits of one token.
_LETTERS, _DIGITS = 6, 3
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]")


def estimated(text: str) -> int:
    """Words by their length, digits in threes, and one for each other sign: such as of Chinese, or a comma."""
    return sum(map(_of_piece, _PIECE.findall(text)))


def _of_piece(piece: str) -> int:
    if len(piece) == 1:
        return 1
    return -(-len(piece) // (_DIGITS if piece[0].isdigit() else _LETTERS))
