"""BM25 over segments, exact.

As in Lucene 8 and later (LUCENE-8563: without the constant factor k1 + 1, which changes no order):

    score(d, q) = sum over terms t of q:  w(t) idf(t) tf / (tf + k1 (1 - b + b dl / avgdl))
    idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))

Unlike Lucene's, document lengths are not rounded to a byte. N, df and avgdl are those of the chunks
that are not deleted, so that scores equal those of a fresh index after any sequence of writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stores_app.lexical.postings import Mask, Postings

Scores = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The live chunks of a collection: how many, and the sum of their lengths in terms."""

    chunks: int
    length: int

    @property
    def average(self) -> float:
        return self.length / self.chunks if self.length else 1.0


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A chunk by its place, since ids are looked up for the best alone."""

    segment_id: int
    ordinal: int
    score: float


#: The postings of each term by segment id.
TermPostings = Mapping[str, Mapping[int, Postings]]


def idf(*, chunks: int, df: int) -> float:
    """Inverse document frequency; above 0 for every df up to `chunks`."""
    return math.log(1 + (chunks - df + 0.5) / (df + 0.5))


def live_postings(found: TermPostings, dead: Mapping[int, Mask]) -> dict[str, dict[int, Postings]]:
    """`found` without deleted chunks and without terms that occur only in those.

    `dead` needs the segments that have deleted chunks. The keys left are the terms the collection knows.
    """
    kept: dict[str, dict[int, Postings]] = {}
    for term, by_segment in found.items():
        for segment_id, postings in by_segment.items():
            live = postings
            if segment_id in dead:
                live = postings.where(~dead[segment_id][postings.ordinals])
            if len(live.ordinals):
                kept.setdefault(term, {})[segment_id] = live
    return kept


def score(
    *,
    postings: TermPostings,
    weights: Mapping[str, float],
    sizes: Mapping[int, int],
    corpus: Corpus,
    k1: float,
    b: float,
) -> dict[int, Scores]:
    """Scores by segment id, indexed by ordinal; 0 where no term occurs.

    `postings` must be live ones; `sizes` has the chunks of each segment. Terms add up in one fixed
    order, so that equal chunks get equal scores to the last bit in whichever segment they are.
    """
    scores: dict[int, Scores] = {}
    for term in sorted(postings):
        by_segment = postings[term]
        df = sum(len(found.ordinals) for found in by_segment.values())
        weight = weights[term] * idf(chunks=corpus.chunks, df=df)
        for segment_id, found in by_segment.items():
            total = scores.setdefault(segment_id, np.zeros(sizes[segment_id], np.float64))
            total[found.ordinals] += shares(found, weight=weight, average=corpus.average, k1=k1, b=b)
    return scores


def shares(postings: Postings, *, weight: float, average: float, k1: float, b: float) -> Scores:
    """What a term adds to the scores of the chunks that have it; `weight` is w(t) idf(t)."""
    tf = postings.frequencies.astype(np.float64)
    return weight * (tf / (tf + k1 * (1 - b + b * postings.lengths / average)))


def candidates(scores: Mapping[int, Scores], *, limit: int) -> list[Candidate]:
    """A few chunks that contain the best `limit` by (score descending, chunk id ascending).

    Ties at the border are kept, the first `limit` of each segment: within one, ordinals follow ids.
    """
    places = {segment_id: np.flatnonzero(found > 0) for segment_id, found in scores.items()}
    if limit < 1 or not any(len(place) for place in places.values()):
        return []
    matched = np.concatenate([scores[segment_id][place] for segment_id, place in places.items()])
    border = 0.0
    if len(matched) > limit:
        border = float(np.partition(matched, len(matched) - limit)[len(matched) - limit])
    chosen: list[Candidate] = []
    for segment_id, place in places.items():
        found = scores[segment_id][place]
        tied = np.flatnonzero(found == border)[:limit]
        best = np.concatenate([np.flatnonzero(found > border), tied])
        chosen.extend(Candidate(segment_id=segment_id, ordinal=int(place[at]), score=float(found[at])) for at in best)
    return chosen


def ordered(scored: Sequence[tuple[int, float]], *, limit: int) -> list[tuple[int, float]]:
    """The best (chunk id, score), ties by ascending id."""
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]
