"""The playground: one search through the same service as the API, with its reasons shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from collections_app.models import Chunk, Collection
from console_app.failures import EXPECTED, sentence
from console_app.forms import QueryForm
from console_app.highlighting import marked
from console_app.selectors import chunks_by_external_id
from search_app.asking import DEFAULT_LIMIT
from search_app.explaining import HitExplanation
from search_app.results import Hit, SearchResult
from search_app.services import search

#: Shown in places of their own, so not again among the user's metadata.
SYSTEM_FIELDS = frozenset({"source", "page_number", "chunk_index", "section", "similarity_score", "rrf_score"})


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
    #: Null where it was deleted between the search and this look at it.
    chunk: Chunk | None
    #: The user's own.
    metadata: Mapping[str, Any]

    @property
    def percent(self) -> int:
        return round(100 * self.hit.score)


@dataclass(frozen=True, kw_only=True)
class QueryPage:
    """The form and, once it was sent and accepted, what the search returned."""

    form: QueryForm
    result: SearchResult | None = None
    passages: Sequence[Passage] = ()


def run_query(data: Mapping[str, Any], *, asked_by: str) -> QueryPage:
    """The page for these GET parameters; without a query it is an empty form."""
    names = list(Collection.objects.order_by("name").values_list("name", flat=True))
    choices = [(name, name) for name in names]
    if "query" not in data:
        initial = {"collection": data.get("collection"), "top_k": DEFAULT_LIMIT}
        return QueryPage(form=QueryForm(collections=choices, initial=initial))
    form = QueryForm(data, collections=choices)
    if not form.is_valid():
        return QueryPage(form=form)
    asked = form.cleaned_data
    try:
        result = search(
            collection_name=asked["collection"],
            query=asked["query"],
            top_k=asked["top_k"],
            min_score=asked["min_score"],
            mode=asked["mode"] or None,
            where=asked["where"],
            highlight=True,
            explain=True,
            asked_by=asked_by,
        )
        passages = _passages(asked["collection"], result)
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return QueryPage(form=form)
    return QueryPage(form=form, result=result, passages=passages)


def _passages(collection_name: str, result: SearchResult) -> list[Passage]:
    chunks = chunks_by_external_id(collection_name=collection_name, external_ids=[hit.id for hit in result.hits])
    return [_passage(hit, chunks.get(hit.id)) for hit in result.hits]


def _passage(hit: Hit, chunk: Chunk | None) -> Passage:
    start, end = hit.matched_at or (0, len(hit.content))
    ranges = hit.highlights or ()
    return Passage(
        hit=hit,
        text=marked(hit.content, ranges, start=start, end=end),
        before=marked(hit.content, ranges, end=start),
        after=marked(hit.content, ranges, start=end),
        why=hit.explanation,
        chunk=chunk,
        metadata={key: value for key, value in hit.metadata.items() if key not in SYSTEM_FIELDS},
    )
