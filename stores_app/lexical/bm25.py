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
class Impacts:
    """Where a term occurs, and what it adds there for each unit of its weight: two arrays of one length.

    Places count the chunks of all segments, one segment after the other; they are ascending.
    """

    places: NDArray[np.int32]
    impacts: Scores

    @property
    def chunks(self) -> int:
        return len(self.places)

    @property
    def least(self) -> float:
        """The smallest impact. There must be one."""
        return float(self.impacts.min())

    @property
    def size(self) -> int:
        """In bytes."""
        return self.places.nbytes + self.impacts.nbytes


def idf(*, chunks: int, df: int) -> float:
    """Inverse document frequency; above 0 for every df up to `chunks`."""
    return math.log(1 + (chunks - df + 0.5) / (df + 0.5))


def impacts(
    parts: Sequence[tuple[int, Postings]], *, alive: Mask | None, average: float, k1: float, b: float
) -> Impacts:
    """What a term adds, from its postings in each segment and the place at which the segment starts.

    `alive` says of each place whether its chunk is there; None where none is deleted.
    """
    counts = [len(postings.ordinals) for _, postings in parts]
    starts = np.repeat(np.fromiter((start for start, _ in parts), np.int64, len(parts)), counts)
    joined = Postings.joined([postings for _, postings in parts])
    places = joined.ordinals + starts
    if alive is not None:
        chosen = alive[places]
        places, joined = places[chosen], joined.where(chosen)
    found = Impacts(places=places.astype(np.int32), impacts=_impacts(joined, average=average, k1=k1, b=b))
    # Searches of other threads are given the same ones.
    found.places.setflags(write=False)
    found.impacts.setflags(write=False)
    return found


def score(found: Mapping[str, Impacts], *, factors: Mapping[str, float], size: int) -> Scores:
    """The score of each place, of which there are `size`; 0 where no term occurs. `factors` are w(t) idf(t).

    Terms add up in one fixed order, so that equal chunks get equal scores to the last bit wherever they are.
    """
    scores = np.zeros(size, np.float64)
    for term in sorted(found):
        np.add.at(scores, found[term].places, factors[term] * found[term].impacts)
    return scores


def shares(postings: Postings, *, factor: float, average: float, k1: float, b: float) -> Scores:
    """What a term adds to the scores of the chunks that have it, to the last bit as `score` does."""
    return factor * _impacts(postings, average=average, k1=k1, b=b)


def _impacts(postings: Postings, *, average: float, k1: float, b: float) -> Scores:
    tf = postings.frequencies.astype(np.float64)
    return tf / (tf + k1 * (1 - b + b * postings.lengths / average))


def candidates(scores: Scores, *, starts: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """A few places that contain the best `limit` by (score descending, chunk id ascending).

    Ties at the border are kept, the first `limit` of each segment: within one, places follow ids. `starts` has
    the first place of each segment.
    """
    if limit < 1:
        return np.empty(0, np.int64)
    least = _least_of_the_best(scores, limit)
    places = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    if len(places) <= limit:
        return places
    found = scores[places]
    border = np.partition(found, len(found) - limit)[len(found) - limit]
    tied = places[found == border]
    return np.concatenate([places[found > border], _firsts_of_segments(tied, starts, limit)])


def _least_of_the_best(scores: Scores, limit: int) -> float:
    """A score that the best `limit` have at least, hardly below that of the last of them; 0 where few score.

    The best of each of many groups: `limit` of these are as good, so no fewer are of all. Groups are columns, for
    going through memory in its order takes a fifth of what partitioning all scores does.
    """
    groups = max(1024, 8 * limit)
    rows = len(scores) // groups
    if rows < 2:
        return 0.0
    peaks = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    return float(np.partition(peaks, groups - limit)[groups - limit])


def _firsts_of_segments(places: NDArray[np.int64], starts: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The first `limit` of each segment; `places` ascend."""
    if len(places) <= limit:
        return places
    segments = np.searchsorted(starts, places, side="right")
    return places[np.arange(len(places)) - np.searchsorted(segments, segments) < limit]


def ordered(chunk_ids: NDArray[np.int64], scores: Scores, *, limit: int) -> tuple[NDArray[np.int64], Scores]:
    """The best of both, ties by ascending id."""
    order = np.lexsort((chunk_ids, -scores))[:limit]
    return chunk_ids[order], scores[order]
