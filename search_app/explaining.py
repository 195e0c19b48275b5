"""Why a passage is where it is: the numbers of each leg, and how they add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collections_app.models import Collection
from core_app.ports import AskedTerm, TermShare
from core_app.wiring import store
from search_app.asking import SearchRequest
from search_app.clock import Stage
from search_app.corpora import alike
from search_app.emptiness import Survivors, survivors
from search_app.findings import Findings
from search_app.fusion import RRF_K
from search_app.ranking import Ranking
from search_app.reranking import RerankedHit
from search_app.results import SearchWarning


@dataclass(frozen=True, kw_only=True)
class LegExplanation:
    """What one leg says of a passage."""

    #: From 1; None where the leg did not find it.
    rank: int | None
    #: Similarity, or BM25; None where it is not known.
    score: float | None
    #: The score on the leg's scale from 0 to 1; None where the fusion has no scales.
    normalised: float | None
    #: What the leg adds to the final score.
    share: float


@dataclass(frozen=True, kw_only=True)
class HitExplanation:
    """How a passage got its place. The legs' shares add up to `score`, the terms' to the lexical leg's score."""

    dense: LegExplanation
    lexical: LegExplanation
    terms: Sequence[TermShare]
    #: What the order is by.
    score: float
    #: Its place by that score, from 1, before results were made to differ or shown once.
    rank: int
    #: None where no reranker read it.
    reranked: RerankedHit | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How a search was done."""

    terms: Sequence[AskedTerm]
    #: How each leg looked, such as `filter first`.
    ways: Mapping[str, str]
    #: Of words in a calibrated fusion.
    lexical_weight: float | None
    stages: Sequence[Stage]
    #: What each condition left; only of a search that found nothing.
    survivors: Sequence[Survivors]


def explain_hits(
    chunk_ids: Sequence[int],
    *,
    text: str,
    collections: Sequence[Collection],
    findings: Findings,
    ranking: Ranking,
    reranked: Mapping[int, RerankedHit],
    seconds: float | None,
) -> dict[int, HitExplanation]:
    """By chunk id; what terms add is left out where it cannot be read in so many seconds, and a warning says so."""
    terms = term_shares(chunk_ids, text, collections, findings, seconds)
    dense_ranks = {hit.chunk_id: rank for rank, hit in enumerate(findings.dense, start=1)}
    lexical_ranks = {hit.chunk_id: rank for rank, hit in enumerate(findings.lexical, start=1)}
    lexical_scores = {hit.chunk_id: hit.score for hit in findings.lexical}
    places = {chunk_id: place for place, chunk_id in enumerate(ranking.scores, start=1)}
    found: dict[int, HitExplanation] = {}
    for chunk_id in chunk_ids:
        calibrated = ranking.calibrated.get(chunk_id)
        weight = ranking.lexical_weight
        shares = terms.get(chunk_id, ())
        found[chunk_id] = HitExplanation(
            dense=LegExplanation(
                rank=dense_ranks.get(chunk_id),
                score=findings.similarities.get(chunk_id),
                normalised=None if calibrated is None else calibrated.dense,
                share=_rrf_share(dense_ranks.get(chunk_id)) if calibrated is None else (1 - weight) * calibrated.dense,
            ),
            lexical=LegExplanation(
                rank=lexical_ranks.get(chunk_id),
                score=lexical_scores.get(chunk_id, sum(share.share for share in shares) or None),
                normalised=None if calibrated is None else calibrated.lexical,
                share=_rrf_share(lexical_ranks.get(chunk_id)) if calibrated is None else weight * calibrated.lexical,
            ),
            terms=shares,
            score=ranking.scores[chunk_id],
            rank=places[chunk_id],
            reranked=reranked.get(chunk_id),
        )
    return found


def _rrf_share(rank: int | None) -> float:
    return 0.0 if rank is None else 1.0 / (RRF_K + rank)


def term_shares(
    chunk_ids: Sequence[int], text: str, collections: Sequence[Collection], findings: Findings, seconds: float | None
) -> dict[int, Sequence[TermShare]]:
    """What each term of the query adds to these chunks' scores by words, within so many seconds."""
    found: dict[int, Sequence[TermShare]] = {}
    cut = SearchWarning(code="explanation_cut", detail="There was no time to read what each term adds to a score.")
    for (store_name, bm25), those in alike(collections).items():
        if findings.said(cut):
            break
        shares = findings.attempt(
            "explanation_failed",
            "What the query's terms add to each score could not be read.",
            lambda store_name=store_name, bm25=bm25, those=those: store(store_name).term_shares(  # type: ignore[misc]
                collection_ids=[collection.pk for collection in those], bm25=bm25, query=text, chunk_ids=chunk_ids
            ),
            seconds=seconds,
            cut=cut,
        )
        factor = findings.scaled.get((store_name, bm25), 1.0)
        for chunk_id, of_chunk in (shares or {}).items():
            found[chunk_id] = [
                replace(one, weight=factor * one.weight, share=factor * one.share) if factor != 1.0 else one
                for one in of_chunk
            ]
    return found


def explain_search(
    findings: Findings, *, ranking: Ranking, stages: Sequence[Stage], left: Sequence[Survivors]
) -> Explanation:
    """How the whole of it was done."""
    return Explanation(
        terms=findings.terms,
        ways=findings.ways,
        lexical_weight=ranking.lexical_weight if ranking.calibrated else None,
        stages=stages,
        survivors=left,
    )


def survivors_of(
    request: SearchRequest,
    *,
    collections: Sequence[Collection],
    findings: Findings,
    min_score: float | None,
    above: int,
) -> Sequence[Survivors]:
    """What each condition of a search without results left."""
    return survivors(
        collections=collections,
        where=request.where,
        by_words=findings.terms if request.legs == "lexical" else None,
        matched=len(findings.lexical),
        min_score=min_score,
        above=above,
    )
