"""Texts as a segment that lacks only the ids of its chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stores_app.lexical.analysis import document_terms
from stores_app.lexical.building import build


@dataclass(frozen=True, kw_only=True)
class AnalysedTexts:
    """Lengths in terms by ordinal, and blocks of postings with their first terms (`stores_app.lexical.blocks`)."""

    lengths: NDArray[np.uint32]
    blocks: Sequence[tuple[str, bytes]]


def analyse(*, language: str, texts: Sequence[str]) -> AnalysedTexts:
    """The words of texts that are in the order of their chunks' ids. Raises InvalidInput for an unknown language."""
    lengths, postings = build([document_terms(text, language) for text in texts])
    return AnalysedTexts(lengths=lengths, blocks=list(postings.blocks(lengths)))
