"""Searching collections: what to look for, by which legs, and the answer as hits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from collections_app.filters import narrowed
from collections_app.models import Collection
from collections_app.selectors import get_collections
from collections_app.services import get_or_create_default, space_of
from core_app.errors import InvalidInput
from core_app.ports import Vectors
from core_app.snapshot import guarded, snapshot
from core_app.wiring import app_settings, store
from rerank_app.second_stage import is_there
from search_app.asking import SearchOptions, SearchRequest
from search_app.clock import Clock
from search_app.diversity import maximal_marginal_relevance
from search_app.explaining import Explanation, explain_hits, explain_search, survivors_of
from search_app.facets import count_in_time
from search_app.findings import Findings
from search_app.legs import Looking, look
from search_app.modes import MODES, Legs
from search_app.presenting import present
from search_app.query_log import remember, remember_failure
from search_app.ranking import Ranking, ranked
from search_app.reranking import Reranked, Reranker, relevance
from search_app.results import Hit, SearchResult, SearchWarning, ValueCount
from search_app.showing import MOST_SHOWN, Shown, chosen, count_results
from search_app.tracing import Outcome, Whereabouts, trace
from search_app.tuning import Tuning, tuning_for

logger = logging.getLogger(__name__)

RAW_QUERY = "first message (raw query)"
CONTEXTUALIZED_TOPIC = "follow-up (contextualized topic)"
MOST_COLLECTIONS = 100
_DIVERSITY_CUT = SearchWarning(
    code="diversity_cut", detail="The mode's time was over: results were not made to differ."
)
_DEPTH_CUT = SearchWarning(code="depth_cut", detail="There was no time to look deeper: there may be more results.")
#: Where passages of one parent or document fall together, the legs look so many times deeper, but no deeper than so.
DEEPER, DEEPEST = 10, 10_000


def hybrid_search_enabled() -> bool:
    """Whether searches use words as well as meaning (B2.5)."""
    return app_settings().search.use_hybrid_search


def search(*, collection_name: str, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
    """The passages of a collection that answer a query, best first; `SearchRequest` says what the options mean.

    A query of white space finds nothing (B8.1). One failing leg is a warning and the other's results. Raises
    NotFound for an unknown collection, InvalidInput for a filter that cannot be used, and Unavailable when meaning
    alone is asked for and nothing can embed.
    """
    return _search([collection_name], SearchRequest(query=query, **options))


def search_collections(
    *, collection_names: Sequence[str], query: str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """As `search`, in several collections as if they were one. Raises InvalidInput where none is named, or too many."""
    names = list(dict.fromkeys(collection_names))
    if not 1 <= len(names) <= MOST_COLLECTIONS:
        raise InvalidInput(f"collections: name 1 to {MOST_COLLECTIONS}.", code="invalid_collections")
    return _search(names, SearchRequest(query=query, **options))


def _search(names: Sequence[str], request: SearchRequest) -> SearchResult:
    clock = Clock()
    text, strategy = _query_text(request)
    try:
        return _answer(names, request, text, strategy, clock)
    except Exception as error:
        remember_failure(request=request, text=text, collections=names, strategy=strategy, clock=clock, error=error)
        raise


def _answer(names: Sequence[str], request: SearchRequest, text: str, strategy: str, clock: Clock) -> SearchResult:
    for name in names:
        if name == app_settings().vector_database.default_collection:
            get_or_create_default(name=name)
    with snapshot():
        collections = list({found.pk: found for found in get_collections(names=names)}.values())
        request = _with_filter(request, collections)
        tuning = tuning_for(request, collections)
        searched = _Search(collections, request, text, tuning, clock)
        hits = searched.hits()
    findings = searched.findings
    result = SearchResult(
        hits=hits,
        mode=tuning.mode,
        fusion=searched.ranking.fusion,
        query_strategy=strategy,
        reranker=searched.reranked.reranker if searched.reranked else "none",
        reranked=len(searched.reranked.hits) if searched.reranked else 0,
        warnings=findings.warnings,
        took_ms=clock.took_ms,
        facets=searched.facets,
        explanation=searched.explanation,
        traced=searched.traced,
    )
    called = [collection.name for collection in collections]
    logger.info(
        "search done",
        extra={
            "collections": called,
            "mode": tuning.mode,
            "dense_results": len(findings.dense),
            "lexical_results": len(findings.lexical),
            "results": len(hits),
            "reranker": result.reranker,
            "reranked": result.reranked,
            "took_ms": result.took_ms,
            "stages_ms": {stage.name: stage.took_ms for stage in clock.stages},
        },
    )
    remember(request=request, text=text, collections=called, result=result, stages=clock.stages)
    return result


def _with_filter(request: SearchRequest, collections: Sequence[Collection]) -> SearchRequest:
    where = narrowed(collections=collections, where=request.where, filter_name=request.filter_name)
    return replace(request, where=where)


def _query_text(request: SearchRequest) -> tuple[str, str]:
    """The text to search for, and the name of the reason (A3.1, A3.2, A3.4)."""
    normalised = " ".join(request.topic.split())
    strategy = CONTEXTUALIZED_TOPIC if normalised else RAW_QUERY
    logger.info("query strategy: %s", strategy)
    return normalised or request.query.strip(), strategy


class _Search:
    """One search within its snapshot."""

    def __init__(
        self,
        collections: Sequence[Collection],
        request: SearchRequest,
        text: str,
        tuning: Tuning,
        clock: Clock,
    ) -> None:
        self._collections = [found for found in collections if found.active_generation is not None]
        self._all_collections = collections
        self._request = request
        self._text = text
        self._tuning = tuning
        self.findings = Findings()
        self._clock = clock
        self._mode = MODES[tuning.mode]
        if app_settings().search.cut_at_budget and not request.patient:
            clock.budget_ms = self._mode.budget_ms
        self.ranking = Ranking(scores={}, fusion=tuning.fusion, rrf={})
        self.reranked: Reranked | None = None
        self._reranker = Reranker.of(request, self._mode, query=text, clock=clock)
        self.facets: dict[str, list[ValueCount]] = {}
        self.explanation: Explanation | None = None
        self.traced: Sequence[Whereabouts] = ()

    def hits(self) -> list[Hit]:
        """Both legs, fusion, the threshold on similarity, the cut (B3, B4, B5)."""
        kept: list[int] = []
        shown: list[Shown] = []
        if self._text and self._collections:
            kept, shown = self._found()
        if any(one.is_cut for one in shown):
            self.findings.warn("expansion_cut", f"What stands around was cut to {MOST_SHOWN:,} characters.")
        explained = {}
        if self._request.explain and shown:
            with self._clock.stage("explanation"):
                explained = explain_hits(
                    [one.chunk.pk for one in shown],
                    text=self._text,
                    collections=self._collections,
                    findings=self.findings,
                    ranking=self.ranking,
                    reranked=self.reranked.hits if self.reranked else {},
                    # Whoever asks why has time for it, but not without end.
                    seconds=self._clock.seconds_more,
                )
            self.findings.end_bound()
        with self._clock.stage("texts"):
            hits = present(
                shown,
                collections=self._collections,
                highlighted=self._text if self._request.highlight else None,
                findings=self.findings,
                ranking=self.ranking,
                explained=explained,
                has_time=lambda: self._clock.seconds_left > 0,
            )
        if self._request.trace:
            self.traced = self._traced(kept, shown)
        if self._request.facets:
            self.facets = count_in_time(kept, fields=self._request.facets, findings=self.findings, clock=self._clock)
        if self._request.explain:
            self.explanation = self._explained(len(hits), len(kept))
        return hits

    def _found(self) -> tuple[list[int], list[Shown]]:
        """What is similar enough, and what of it is shown; looked for deeper where too much of it fell together."""
        request = self._request
        depth = max(self._mode.depth, app_settings().search.candidates, 2 * request.limit)
        kept, shown = self._at(depth, is_deeper=False)
        while count_results(shown, group_size=request.group_size) < request.limit and self._goes_on(depth):
            if depth >= DEEPEST:
                detail = f"Many passages fell together: of the best {depth:,} there were no more results."
                self.findings.warn("candidates_cut", detail)
                break
            depth = min(DEEPEST, DEEPER * depth)
            deeper = self._deeper(depth, shown) if self._clock.seconds_left > 0 else None
            if deeper is None:
                self.findings.warn(_DEPTH_CUT.code, _DEPTH_CUT.detail)
                break
            kept, shown = deeper
        return kept, shown

    def _deeper(self, depth: int, shown: list[Shown]) -> tuple[list[int], list[Shown]] | None:
        """The same at another depth; None where that is less, or something goes wrong that did not before.

        That changes nothing. Where the time is over meanwhile, there may be more all the same.
        """
        before = self.findings, self.ranking, self.reranked
        self.findings = Findings()
        try:
            with guarded():
                found = self._at(depth, is_deeper=True)
        except Exception:
            logger.exception("a search that looked deeper failed")
            found = None
        known = {one.code for one in before[0].warnings} | {_DEPTH_CUT.code}
        is_wrong = found is None or bool({one.code for one in self.findings.warnings} - known)
        if is_wrong or found is None or len(found[1]) < len(shown):
            self.findings, self.ranking, self.reranked = before
            return None
        self.findings.warnings = before[0].warnings
        return found

    def _at(self, depth: int, *, is_deeper: bool) -> tuple[list[int], list[Shown]]:
        self._look(depth, is_deeper=is_deeper)
        kept = self._reranked(self._similar_enough())
        with self._clock.stage("passages"):
            shown = chosen(
                ranked=self._diverse(kept),
                limit=self._request.limit,
                expand=self._request.expand,
                group_size=self._request.group_size,
                has_time=self._has_time,
                guests=self.findings.guests,
            )
        return kept, shown

    def _has_time(self) -> bool:
        """Whether more passages may be read; where not, it is said."""
        if self._clock.seconds_left > 0:
            return True
        self.findings.warn(_DEPTH_CUT.code, _DEPTH_CUT.detail)
        return False

    def _goes_on(self, depth: int) -> bool:
        """Whether a leg might have more to give that is similar enough."""
        dense, least = self.findings.dense, self._tuning.min_score
        if least is not None and dense:
            return len(dense) >= depth and self.findings.similarities[dense[-1].chunk_id] >= least
        return any(len(ranking) >= depth for ranking in self.findings.rankings)

    def _look(self, depth: int, *, is_deeper: bool) -> None:
        request, findings = self._request, self.findings
        legs = self._legs
        looking = Looking(
            collections=self._collections,
            text=self._text,
            legs=legs,
            depth=depth,
            enough=self._enough(legs),
            where=request.where,
            is_deeper=is_deeper,
        )
        look(looking, findings, self._clock)
        with self._clock.stage("fusion"):
            self.ranking = ranked(findings, tuning=self._tuning)
        merged = sum(map(len, findings.rankings))
        logger.info("legs merged", extra={"unique_chunks": len(self.ranking.scores), "merged": merged})

    @property
    def _legs(self) -> Legs:
        return self._request.legs or ("hybrid" if hybrid_search_enabled() else "dense")

    def _enough(self, legs: Legs) -> int | None:
        """Found by words, so many are an answer without meaning. A threshold needs similarities."""
        if legs == "dense" or self._tuning.min_score is not None:
            return None
        return self._request.limit if legs == "hybrid" else 0

    def _similar_enough(self) -> list[int]:
        least, similarities = self._tuning.min_score, self.findings.similarities
        if least is not None and self.ranking.scores and not similarities:
            self.findings.warn("min_score_ignored", "Nothing could be compared with min_score, so it was not applied.")
            least = None
        return [pk for pk in self.ranking.scores if least is None or similarities.get(pk, 0.0) >= least]

    def _reranked(self, kept: list[int]) -> list[int]:
        """The best of them as the reranker has them, then the others."""
        wanted = self._reranker.wanted
        if not any(map(is_there, wanted)):
            if self._mode.expects_reranker if self._request.reranker is None else wanted:
                self.findings.warn("no_reranker", "No reranker is configured: the order is that of the fusion.")
            return kept
        self.reranked = self._reranker.reorder(kept, scores=self.ranking.scores, findings=self.findings)
        if self.reranked is None:
            return kept
        return [*self.reranked.hits, *(pk for pk in kept if pk not in self.reranked.hits)]

    def _diverse(self, kept: list[int]) -> list[int]:
        """The best of them so that they differ, then the others."""
        request = self._request
        if not request.diversity or len(kept) < 2:
            return kept
        if self._clock.seconds_left <= 0:
            self.findings.warn(_DIVERSITY_CUT.code, _DIVERSITY_CUT.detail)
            return kept
        pool = kept[: max(50, 4 * request.limit)]
        with self._clock.stage("diversity"):
            vectors: dict[int, Vectors] = {}
            for collection in self._collections:
                assert collection.active_generation is not None
                space = space_of(collection.active_generation)
                found = self.findings.attempt(
                    "diversity_failed",
                    "Vectors could not be read: results were not made to differ by them.",
                    lambda collection=collection, space=space: store(collection.store).vectors(  # type: ignore[misc]
                        space=space, chunk_ids=pool
                    ),
                    seconds=self._clock.seconds_left,
                    cut=_DIVERSITY_CUT,
                )
                self.findings.end_bound()
                if self.findings.said(_DIVERSITY_CUT):
                    return kept
                vectors |= found or {}
            first = maximal_marginal_relevance(
                relevance=relevance(pool, scores=self.ranking.scores, reranked=self.reranked),
                vectors=vectors,
                diversity=request.diversity,
                limit=len(pool),
            )
        return [*first, *kept[len(pool) :]]

    def _traced(self, kept: list[int], shown: list[Shown]) -> Sequence[Whereabouts]:
        outcome = Outcome(
            collections=self._all_collections,
            text=self._text,
            where=self._request.where,
            legs=self._legs,
            limit=self._request.limit,
            min_score=self._tuning.min_score,
            findings=self.findings,
            ranking=self.ranking,
            reranked=self.reranked.hits if self.reranked else {},
            kept=kept,
            shown=shown,
            seconds=self._clock.seconds_more,
        )
        with self._clock.stage("trace"):
            traced = self.findings.attempt(
                "trace_failed", "Where it is could not be told.", lambda: trace(self._request.trace, outcome=outcome)
            )
        return traced or ()

    def _explained(self, results: int, similar: int) -> Explanation:
        left = None
        if not results:
            left = self.findings.attempt(
                "explanation_failed",
                "What the conditions leave could not be counted.",
                lambda: survivors_of(
                    self._request,
                    collections=self._all_collections,
                    findings=self.findings,
                    min_score=self._tuning.min_score,
                    above=similar,
                ),
            )
        return explain_search(self.findings, ranking=self.ranking, stages=self._clock.stages, left=left or ())
