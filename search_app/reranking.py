"""The best of what was found, read once more beside the query and put in order by that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collections_app.models import Chunk
from collections_app.selectors import indexed_texts
from core_app.wiring import app_settings
from rerank_app.second_stage import Reading, RerankerName, read
from search_app.asking import SearchRequest
from search_app.clock import Clock
from search_app.findings import Findings
from search_app.modes import Mode

#: Where a reranker is asked for in a mode that has none.
_USUAL_DEPTH = 20
#: What the rest of a search takes, roughly: a reranker has so much less.
_REST_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class RerankedHit:
    """What a reranker says of a passage. The two shares add up to `final`."""

    #: As the model gives it: of a cross-encoder of any size, of a chat model 0 to 10.
    score: float
    share: float
    #: Of what the order was by before, from the worst (0) to the best (1) of those that were read.
    share_before: float
    #: What the order is by now.
    final: float
    #: Its place by that, from 1, before results were made to differ or shown once.
    rank: int


@dataclass(frozen=True, kw_only=True)
class Reranked:
    """The first so many, best first by chunk id; what follows keeps its order."""

    reranker: RerankerName
    hits: Mapping[int, RerankedHit]


@dataclass(kw_only=True)
class Reranker:
    """Of one search. The same passages are read once, however often the legs look deeper."""

    wanted: Sequence[RerankerName]
    depth: int
    query: str
    clock: Clock
    _read: dict[tuple[int, ...], Reading] = field(default_factory=dict)

    @classmethod
    def of(cls, request: SearchRequest, mode: Mode, *, query: str, clock: Clock) -> Reranker:
        """The mode's, unless the request has a wish of its own."""
        wanted = mode.rerankers
        if request.reranker is not None:
            wanted = () if request.reranker == "none" else (request.reranker,)
        return cls(wanted=wanted, depth=mode.rerank_depth or _USUAL_DEPTH, query=query, clock=clock)

    def reorder(self, kept: Sequence[int], *, scores: Mapping[int, float], findings: Findings) -> Reranked | None:
        """The first of `kept`, which are chunk ids, best first by `scores`; None where none could be read.

        What went wrong is a warning.
        """
        first = tuple(kept[: self.depth])
        if not self.wanted or not first:
            return None
        reading = self._read.get(first)
        if reading is None:
            with self.clock.stage("reranking"):
                texts = findings.attempt(
                    "reranking_failed",
                    "Passages could not be read once more.",
                    lambda: {**_texts(findings.guests), **indexed_texts(chunk_ids=first)},
                )
                if texts is None:
                    return None
                seconds = None if self.clock.budget_ms is None else max(0.0, self.clock.seconds_left - _REST_SECONDS)
                reading = read(query=self.query, texts=[texts[pk] for pk in first], wanted=self.wanted, seconds=seconds)
            self._read[first] = reading
        for problem in reading.problems:
            findings.warn(problem.code, problem.detail)
        if reading.reranker is None:
            return None
        return Reranked(
            reranker=reading.reranker,
            hits=_in_order(dict(zip(first, reading.scores, strict=False)), before=scores),
        )


def _texts(guests: Mapping[int, Chunk]) -> dict[int, str]:
    return {key: chunk.text for key, chunk in guests.items()}


def relevance(pool: Sequence[int], *, scores: Mapping[int, float], reranked: Reranked | None) -> dict[int, float]:
    """What the order of the `pool` is by; where some were reranked, the others have no more than the last of those."""
    if reranked is None:
        return {pk: scores[pk] for pk in pool}
    return {pk: reranked.hits[pk].final if pk in reranked.hits else 0.0 for pk in pool}


def _in_order(found: Mapping[int, float], *, before: Mapping[int, float]) -> dict[int, RerankedHit]:
    """By `Rerank:Weight` of the new scores and the rest of the old, each from its worst to its best."""
    weight = app_settings().rerank.weight
    new, old = _scaled(found), _scaled({pk: before[pk] for pk in found})
    final = {pk: weight * new[pk] + (1 - weight) * old[pk] for pk in found}
    # Sorting is stable: those with the same score keep their order.
    ranked = sorted(found, key=lambda pk: -final[pk])
    return {
        pk: RerankedHit(
            score=found[pk],
            share=weight * new[pk],
            share_before=(1 - weight) * old[pk],
            final=final[pk],
            rank=rank,
        )
        for rank, pk in enumerate(ranked, start=1)
    }


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """From 0 to 1; all 1 where they are the same."""
    least, most = min(scores.values()), max(scores.values())
    return {pk: (score - least) / (most - least) if most > least else 1.0 for pk, score in scores.items()}
