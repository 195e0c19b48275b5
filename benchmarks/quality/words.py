"""BM25 over a recording, in memory, by the product's own analysis and scoring, with weights of one's own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.recording import Recorded
from stores_app.lexical import bm25
from stores_app.lexical.analysis import QueryTerm, document_terms, query_terms
from stores_app.lexical.postings import Postings


class Words:
    """The words of a recording's chunks."""

    def __init__(self, recorded: Recorded) -> None:
        self._language = recorded.language
        self._k1, self._b = recorded.k1, recorded.b
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for place, chunk in enumerate(recorded.chunks):
            terms = document_terms(chunk.text, recorded.language)
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                places[term].append((place, count))
        self.lengths = np.asarray(lengths, np.uint32)
        self._places = dict(places)
        self.chunks = len(lengths)

    def asked(self, text: str) -> list[QueryTerm]:
        """The terms of a query."""
        return query_terms(text, self._language)

    def df(self, term: str) -> int:
        """In how many chunks a term is."""
        return len(self._places.get(term, ()))

    def idf(self, term: str) -> float:
        return bm25.idf(chunks=self.chunks, df=self.df(term))

    def __contains__(self, term: object) -> bool:
        return term in self._places

    def impacts(self, term: str) -> bm25.Impacts:
        """Of a known term."""
        corpus = bm25.Corpus(chunks=self.chunks, length=int(self.lengths.sum()))
        return bm25.impacts([(0, self._postings(term))], alive=None, average=corpus.average, k1=self._k1, b=self._b)

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """The score of every chunk."""
        found = {term: self.impacts(term) for term in weights if term in self._places}
        factors = {term: weights[term] * self.idf(term) for term in found}
        return bm25.score(found, factors=factors, size=self.chunks)

    def _postings(self, term: str) -> Postings:
        places, counts = np.asarray(self._places[term]).T
        return Postings(
            ordinals=places.astype(np.uint32), frequencies=counts.astype(np.uint16), lengths=self.lengths[places]
        )
