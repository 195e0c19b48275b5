"""Measuring ways of doing the same turn about, and what is told of the times: no database here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Way(Generic[Item]):
    """One way to answer an item. What `within` opens and closes is not measured."""

    call: Callable[[Item], Any]
    within: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(kw_only=True)
class Series:
    """Times in ms and answers of one way, in the order of the items."""

    times: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return percentile(self.times, 50)

    @property
    def p95(self) -> float:
        return percentile(self.times, 95)


def turn_about(ways: Mapping[str, Way[Item]], items: Sequence[Item], *, warm: Sequence[Item] = ()) -> dict[str, Series]:
    """Let every way answer every item, so that a slower minute of the machine counts for all.

    Each item is begun by another way: what the first one brings into memory helps those after it. `warm` is
    answered before and not measured.
    """
    names = list(ways)
    found = {name: Series() for name in names}
    for number, item in enumerate([*warm, *items]):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            way = ways[name]
            with way.within():
                began = time.perf_counter()
                answer = way.call(item)
                took = (time.perf_counter() - began) * 1000
            if number >= len(warm):
                found[name].times.append(took)
                found[name].answers.append(answer)
    return found


def percentile(times: Sequence[float], share: float) -> float:
    """Between two times it is interpolated; NaN of none."""
    return float(np.percentile(times, share)) if times else float("nan")


def recall(found: Sequence[int], exact: Sequence[int]) -> float:
    """The share of the exact answer that was found; 1 where there is nothing to find."""
    return len(set(found) & set(exact)) / len(set(exact)) if exact else 1.0


def exact_nearest(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], ids: NDArray[np.int64], *, limit: int
) -> list[list[int]]:
    """Of each query the ids of the nearest by cosine; all vectors have length 1."""
    answers = []
    for query in queries:
        scores = vectors @ query
        near = np.argpartition(-scores, min(limit, len(scores) - 1))[:limit]
        answers.append([int(ids[place]) for place in near[np.argsort(-scores[near], kind="stable")]])
    return answers


def grown(sizes: Sequence[int], p95s: Sequence[float]) -> float:
    """How many times longer the largest takes than the smallest."""
    by_size = sorted(zip(sizes, p95s, strict=True))
    return by_size[-1][1] / by_size[0][1]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
