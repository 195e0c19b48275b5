"""The order of what both legs found, and the numbers that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from search_app.findings import Findings
from search_app.fusion import Calibrated, Scale, calibrated_fusion, reciprocal_rank_fusion
from search_app.modes import Fusion
from search_app.tuning import Tuning
from search_app.weighing import weight_of_words

#: The first so many of each leg make its scale, however deep it looked: so the order does not depend on how many
#: results are wanted.
SCALED = 100


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Everything that was found, best first."""

    #: By chunk id, in order: the score that the order is by.
    scores: Mapping[int, float]
    fusion: Fusion
    rrf: Mapping[int, float]
    #: Of a calibrated fusion.
    calibrated: Mapping[int, Calibrated] = field(default_factory=dict)
    lexical_weight: float = 0.0


def ranked(findings: Findings, *, tuning: Tuning) -> Ranking:
    """Merge the legs (B4), and re-order them by calibrated scores where that is wanted (README 8)."""
    rrf = reciprocal_rank_fusion(findings.rankings)
    if tuning.fusion == "rrf" or not findings.dense or not findings.lexical:
        # One leg alone has an order of its own, which is that of its ranks.
        return Ranking(scores=rrf, fusion="rrf", rrf=rrf)
    similarities = findings.similarities
    lexical = {hit.chunk_id: hit.score for hit in findings.lexical}
    dense_scale = Scale.of([similarities[hit.chunk_id] for hit in findings.dense[:SCALED]])
    # Where words found no more, the rest has none of them.
    lexical_scale = Scale.of(
        [hit.score for hit in findings.lexical[:SCALED]], floor=0.0 if len(lexical) < SCALED else None
    )
    weight = weight_of_words(findings.terms, own=tuning.lexical_weight)
    calibrated = calibrated_fusion(
        list(rrf),
        similarities=similarities,
        lexical=lexical,
        dense_scale=dense_scale,
        lexical_scale=lexical_scale,
        lexical_weight=weight,
    )
    return Ranking(
        scores={chunk_id: found.score for chunk_id, found in calibrated.items()},
        fusion="calibrated",
        rrf=rrf,
        calibrated=calibrated,
        lexical_weight=weight,
    )
