"""What a search found, ready to be drawn: passages, what each part adds to a score, and what took how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from collections_app.models import Chunk
from console_app.highlighting import marked
from console_app.moves import Move
from core_app.names import visible
from search_app.emptiness import Survivors
from search_app.explaining import HitExplanation, LegExplanation
from search_app.results import Hit, SearchResult

#: Shown in places of their own, so not again among the user's metadata.
SYSTEM_FIELDS = frozenset({"source", "page_number", "chunk_index", "section", "similarity_score", "rrf_score"})


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A part of something, drawn from `start` to `start` + `width`, both in percent."""

    label: str
    #: Names its colour: meaning, words, term, reranker, before, total.
    kind: str
    value: float
    start: float
    width: float
    #: What stands beside the number.
    note: str = ""

    # As text: a template would write them with the comma of some languages.
    @property
    def x(self) -> str:
        return f"{self.start:.2f}"

    @property
    def wide(self) -> str:
        return f"{max(self.width, 0.0):.2f}"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One hit, ready to be shown."""

    hit: Hit
    #: What was found, and what of its parent stands before and after it.
    text: SafeString
    before: SafeString
    after: SafeString
    #: What either leg and each word adds to its place.
    why: HitExplanation | None
    #: What adds up to the score of the fusion, and to that of the reranker.
    fused: Sequence[Bar]
    reranked: Sequence[Bar]
    #: Null where it was deleted between the search and this look at it.
    chunk: Chunk | None
    #: The user's own.
    metadata: Mapping[str, Any]
    #: Where it is in the other order.
    move: Move | None = None
    #: Number of its judgement on the page; None where it is judged beside, in the other order.
    number: int | None = None
    #: What is judged of it already.
    grade: int | None = None
    #: The id under which it was judged, where its source was cut anew since.
    judged_as: str = ""
    #: The grade that is stored, as the form sends it.
    shown: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.hit.collection, self.hit.id


def passage_of(hit: Hit, *, chunk: Chunk | None, most: float) -> Passage:
    """A hit with its bars; `most` is the best score of its list, which is as long as a bar can be."""
    start, end = hit.matched_at or (0, len(hit.content))
    ranges = hit.highlights or ()
    why = hit.explanation
    return Passage(
        hit=hit,
        text=marked(hit.content, ranges, start=start, end=end),
        before=marked(hit.content, ranges, end=start),
        after=marked(hit.content, ranges, start=end),
        why=why,
        fused=fused_bars(why, most=most) if why else (),
        reranked=reranked_bars(why) if why else (),
        chunk=chunk,
        metadata={key: value for key, value in hit.metadata.items() if key not in SYSTEM_FIELDS},
    )


def best_score(hits: Sequence[Hit]) -> float:
    """Of the fusion, among these."""
    return max((hit.explanation.score for hit in hits if hit.explanation), default=0.0) or 1.0


def fused_bars(why: HitExplanation, *, most: float) -> list[Bar]:
    """Meaning and words one behind the other, the terms within the words' part; the first two add up to the score."""
    scale = 100 / most
    meaning, words = why.dense.share * scale, why.lexical.share * scale
    bars = [
        _leg_bar(_("Meaning"), "meaning", why.dense, start=0, width=meaning),
        _leg_bar(_("Words"), "words", why.lexical, start=meaning, width=words),
    ]
    bm25, at = sum(term.share for term in why.terms), meaning
    for term in why.terms if bm25 and why.lexical.share else ():
        part = why.lexical.share * term.share / bm25
        bars.append(
            Bar(
                label=visible(term.term),
                kind="term",
                value=part,
                start=at,
                width=part * scale,
                note=f"BM25 {term.share:.3f}",
            )
        )
        at += part * scale
    bars.append(Bar(label=_("Together"), kind="total", value=why.score, start=0, width=why.score * scale))
    return bars


def reranked_bars(why: HitExplanation) -> list[Bar]:
    """What the reranker says and what the order of before says; they add up to the score that the order is by now."""
    one = why.reranked
    if one is None:
        return []
    first, second = 100 * one.share, 100 * one.share_before
    note = _("model's score %(score)s") % {"score": f"{one.score:.4f}"}
    return [
        Bar(label=_("Reranker"), kind="reranker", value=one.share, start=0, width=first, note=note),
        Bar(label=_("Order before"), kind="before", value=one.share_before, start=first, width=second),
        Bar(label=_("Final"), kind="total", value=one.final, start=0, width=100 * one.final),
    ]


def waterfall(result: SearchResult) -> list[Bar]:
    """The stages as they ran, from the search's beginning to its end."""
    if result.explanation is None:
        return []
    stages = result.explanation.stages
    total = max([result.took_ms, *(stage.began_ms + stage.took_ms for stage in stages)]) or 1.0
    return [
        Bar(
            label=stage.name,
            kind="stage",
            value=stage.took_ms,
            start=100 * stage.began_ms / total,
            width=100 * stage.took_ms / total,
            note=_("from %(began)s ms") % {"began": f"{stage.began_ms:.1f}"},
        )
        for stage in stages
    ]


def survivor_bars(left: Sequence[Survivors]) -> list[tuple[Survivors, Bar]]:
    """How many chunks each condition leaves, against all of them."""
    most = max((step.together for step in left), default=0) or 1
    return [
        (step, Bar(label=step.condition, kind="left", value=step.together, start=0, width=100 * step.together / most))
        for step in left
    ]


def _leg_bar(label: str, kind: str, leg: LegExplanation, *, start: float, width: float) -> Bar:
    if leg.rank is None:
        note = _("not found by it")
    else:
        note = _("rank %(rank)s") % {"rank": leg.rank} + ("" if leg.score is None else f", {leg.score:.4f}")
    return Bar(label=label, kind=kind, value=leg.share, start=start, width=width, note=note)
