"""Made-up documents that are like real ones where it matters: word frequencies, clustered vectors, selectivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
WORDS_EACH = 120
VOCABULARY = 30_000
CLUSTERS = 200

#: Filters by the share of documents that they let through; both servers know this form.
FILTERS: dict[str, dict[str, Any]] = {
    "50 %": {"half": "a"},
    "5 %": {"twentieth": "a"},
    "0.5 %": {"rare": "a"},
}
ONE_PERCENT: dict[str, Any] = {"hundredth": "a"}


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Documents as columns; `vectors` has the shape (documents, DIMENSION)."""

    ids: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[dict[str, Any]]
    vectors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)


def make(count: int, *, seed: int = 7) -> Corpus:
    """The same documents for the same arguments."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{number:05d}" for number in range(VOCABULARY)])
    # Zipf's law, as in any language.
    weights = 1.0 / np.arange(1, VOCABULARY + 1)
    drawn = random.choice(VOCABULARY, size=(count, WORDS_EACH), p=weights / weights.sum())
    shares = random.random((count, 4))
    metadata = [
        {
            "half": "a" if half < 0.5 else "b",
            "twentieth": "a" if twentieth < 0.05 else "b",
            "rare": "a" if rare < 0.005 else "b",
            "hundredth": "a" if hundredth < 0.01 else "b",
            "section": f"s{number // 20}",
            "number": number,
        }
        for number, (half, twentieth, rare, hundredth) in enumerate(shares)
    ]
    return Corpus(
        ids=[f"d{number}" for number in range(count)],
        texts=[" ".join(row) for row in words[drawn]],
        metadata=metadata,
        vectors=_vectors(count, random),
    )


def queries(count: int, *, seed: int = 11) -> NDArray[np.float32]:
    """Vectors from the same clusters as the documents."""
    return _vectors(count, np.random.default_rng(seed))


def _vectors(count: int, random: np.random.Generator) -> NDArray[np.float32]:
    centres = np.random.default_rng(3).normal(size=(CLUSTERS, DIMENSION))
    vectors = centres[random.integers(0, CLUSTERS, count)] + random.normal(scale=0.9, size=(count, DIMENSION))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def nearest(corpus: Corpus, query: NDArray[np.float32], where: dict[str, Any], limit: int) -> list[str]:
    """The exact answer, by cosine."""
    (key, value), *_ = [*where.items(), ("", "")]
    chosen = [index for index, row in enumerate(corpus.metadata) if not where or row[key] == value]
    scores = corpus.vectors[chosen] @ query
    best = np.argsort(-scores, kind="stable")[:limit]
    return [corpus.ids[chosen[index]] for index in best]
