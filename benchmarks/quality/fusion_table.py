"""Scores of many ways of merging on one recording, in seconds and without a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import fusions
from benchmarks.quality.fusions import Merged, Numbers
from benchmarks.quality.identifier_rule import Rule, Weighed, weigh
from benchmarks.quality.metrics import Scores, evaluate
from benchmarks.quality.recording import DEPTH, Asked, Recorded
from benchmarks.quality.words import Words

LEXICAL_WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)
#: The rule, and it with each constant halved and doubled, or as near as makes sense.
RULES: dict[str, Rule] = {
    "rule": Rule(),
    "rule, rare 5": Rule(rare=5),
    "rule, rare 20": Rule(rare=20),
    "rule, boost 1": Rule(boost=1),
    "rule, boost 4": Rule(boost=4),
    "rule, dominance 0": Rule(dominance=0),
    "rule, dominance 0.5": Rule(dominance=0.5),
    "rule, dominance 2": Rule(dominance=2),
    "rule, least 0.4": Rule(least=0.4),
    "rule, least 0.6": Rule(least=0.6),
    "rule, most 0.7": Rule(most=0.7),
    "rule, most 1": Rule(most=1.0),
}

#: Ids of documents by query.
Run = dict[str, list[str]]


class Legs:
    """A recording with its words counted and its vectors at hand."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self.words = Words(recorded)
        self._documents = [chunk.document for chunk in recorded.chunks]
        self._vectors = np.frombuffer(recorded.vectors, "<f4").reshape(len(recorded.chunks), -1)
        self._similarities = {
            query.id: np.clip(self._vectors @ np.frombuffer(query.vector, "<f4"), 0, 1).astype(np.float64)
            for query in recorded.queries
        }

    def weighed(self, rule: Rule) -> dict[str, Weighed]:
        return {query.id: weigh(self.words, query.text, rule) for query in self._recorded.queries}

    def merged(self, weighed: dict[str, Weighed] | None = None) -> dict[str, Merged]:
        """What both legs found; with other weights of the query's words where they are given."""
        return {
            query.id: self._merged(query, None if weighed is None else self.words.scores(weighed[query.id].terms))
            for query in self._recorded.queries
        }

    def _merged(self, query: Asked, scores: Numbers | None) -> Merged:
        lexical, bm25 = query.lexical, np.asarray(query.bm25, np.float64)
        if scores is not None:
            best = _best(scores)
            lexical, bm25 = best.tolist(), scores[best]
        chunks = np.union1d(np.asarray(query.dense, np.int64), np.asarray(lexical, np.int64))
        found = np.zeros(len(chunks))
        found[np.searchsorted(chunks, lexical)] = bm25
        return Merged(
            chunks=chunks,
            dense_rank=_ranks(chunks, query.dense),
            lexical_rank=_ranks(chunks, lexical),
            similarity=self._similarities[query.id][chunks],
            bm25=found,
        )

    def run(self, merged: dict[str, Merged], score: Callable[[str, Merged], Numbers]) -> Run:
        """Documents by the best of their chunks; a chunk that scores minus infinity was not found."""
        run = {}
        for query, found in merged.items():
            values = score(query, found)
            order = np.lexsort((found.chunks, -values))[: np.count_nonzero(values > -np.inf)]
            run[query] = list(dict.fromkeys(self._documents[place] for place in found.chunks[order]))
        return run


def table(recorded: Recorded, *, rules: dict[str, Rule], queries: Sequence[str] | None = None) -> dict[str, Scores]:
    """Name of each way → its scores, on all queries or some."""
    legs = Legs(recorded)
    # Without a boost of names, which the product's own search has.
    merged = legs.merged(legs.weighed(Rule(rare=0)))
    runs: dict[str, Run] = {
        "BM25": legs.run(merged, lambda _, found: _by_rank(found.lexical_rank)),
        "dense": legs.run(merged, lambda _, found: _by_rank(found.dense_rank)),
        "RRF": legs.run(merged, lambda _, found: fusions.reciprocal_ranks(found)),
    }
    for weight in LEXICAL_WEIGHTS:
        runs[f"min-max {weight}"] = legs.run(merged, _min_max(weight))
    runs["z-scores 0.5"] = legs.run(merged, lambda _, found: fusions.z_scores(found, lexical_weight=0.5))
    for name, rule in rules.items():
        runs |= _of_rule(legs, name, rule)
    judged = {query: recorded.judgements[query] for query in queries or recorded.judgements}
    return {name: evaluate(run=run, judgements=judged) for name, run in runs.items()}


def _min_max(weight: float) -> Callable[[str, Merged], Numbers]:
    return lambda _, found: fusions.min_max(found, lexical_weight=weight)


def _of_rule(legs: Legs, name: str, rule: Rule) -> dict[str, Run]:
    weighed = legs.weighed(rule)
    merged = legs.merged(weighed)

    def fused(query: str, found: Merged) -> Numbers:
        return fusions.min_max(found, lexical_weight=weighed[query].lexical_weight)

    return {
        f"BM25, {name}": legs.run(merged, lambda _, found: _by_rank(found.lexical_rank)),
        f"RRF, {name}": legs.run(merged, lambda _, found: fusions.reciprocal_ranks(found)),
        f"min-max, {name}": legs.run(merged, fused),
    }


def _best(scores: Numbers) -> NDArray[np.int64]:
    found = np.flatnonzero(scores > 0)
    return found[np.lexsort((found, -scores[found]))][:DEPTH]


def _ranks(chunks: NDArray[np.int64], order: Sequence[int]) -> NDArray[np.int64]:
    ranks = np.zeros(len(chunks), np.int64)
    ranks[np.searchsorted(chunks, order)] = np.arange(1, len(order) + 1)
    return ranks


def _by_rank(ranks: NDArray[np.int64]) -> Numbers:
    """A leg alone, without what only the other found."""
    return np.where(ranks > 0, -ranks, -np.inf)
