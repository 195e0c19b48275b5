"""Candidates where none are given: BM25 in memory, over words as they are written.

The search's own word index is in another room and needs a database; what is hard to tell apart is found without it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import numpy as np

from core_app.ports import Vectors
from rerank_app.training.judged import Candidates

_WORD = re.compile(r"\w+")
_K1, _B = 1.2, 0.75


class WordIndex:
    """Over documents by id."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._names = list(documents)
        found: dict[str, tuple[list[int], list[int]]] = {}
        lengths = np.zeros(len(self._names), np.float32)
        for place, text in enumerate(documents.values()):
            counts = Counter(_WORD.findall(text.casefold()))
            lengths[place] = counts.total()
            for word, count in counts.items():
                places, times = found.setdefault(word, ([], []))
                places.append(place)
                times.append(count)
        self._norms = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        self._found = {
            word: (np.array(places, np.int32), np.array(times, np.float32)) for word, (places, times) in found.items()
        }

    def best(self, query: str, *, most: int) -> Candidates:
        """Documents with a word of the query, best first; of the same score, the first of the corpus first."""
        scores: Vectors = np.zeros(len(self._names), np.float32)
        for word in set(_WORD.findall(query.casefold())):
            if word in self._found:
                places, times = self._found[word]
                rarity = np.log(1 + (len(self._names) - len(places) + 0.5) / (len(places) + 0.5))
                scores[places] += rarity * times * (_K1 + 1) / (times + self._norms[places])
        order = np.argsort(-scores, kind="stable")[:most]
        return {self._names[place]: float(scores[place]) for place in order if scores[place] > 0}
