"""As many vectors as are wanted, about as real ones lie: a model of that many texts would take hours.

Some real passages are embedded. Each vector is one of them, drawn towards a near neighbour, plus differences of other
real ones: noise that goes in the directions in which texts differ, and not in all of them alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_NEIGHBOURS = 5
#: How far towards the neighbour at most; how much of a difference is added.
_TOWARDS = 0.5
_DIFFERENCE = (0.2, 0.7)
_NOISE = 0.01


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Real vectors of length 1, of the sources by their number."""

    vectors: Vectors
    near: NDArray[np.int64]

    @classmethod
    def of(cls, vectors: Vectors) -> Embedded:
        unit = normalised(vectors)
        similar = unit @ unit.T
        np.fill_diagonal(similar, -1.0)
        return cls(vectors=unit, near=np.argsort(-similar, axis=1)[:, :_NEIGHBOURS])

    def around(self, sources: NDArray[np.int64], *, seed: int) -> Vectors:
        """One vector for each of these sources."""
        random = np.random.default_rng(seed)
        count, (total, dimension) = len(sources), self.vectors.shape
        neighbours = self.near[sources, random.integers(0, self.near.shape[1], count)]
        towards = random.uniform(0, _TOWARDS, (count, 1))
        one, other = random.integers(0, total, (2, count))
        strength = random.uniform(*_DIFFERENCE, (count, 1))
        made = (
            (1 - towards) * self.vectors[sources]
            + towards * self.vectors[neighbours]
            + strength * (self.vectors[one] - self.vectors[other])
            + random.normal(scale=_NOISE, size=(count, dimension))
        )
        return normalised(made)


def normalised(vectors: NDArray[np.floating]) -> Vectors:
    """Of length 1."""
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
