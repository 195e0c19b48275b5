"""What a search is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

from core_app.errors import InvalidInput
from core_app.where import Where, parse_where
from rerank_app.second_stage import RerankerName
from search_app.modes import Fusion, Legs, ModeName

DEFAULT_LIMIT = 5
#: C's `searchDocs` and its address return at most so many.
MOST_KNOWLEDGE = 20
WIDEST_WINDOW = 20
LARGEST_GROUP = 10
_WINDOW = re.compile(r"window:([0-9]{1,4})")


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """What of a document is shown around a passage that was found."""

    kind: Literal["section", "document", "window"]
    #: Of a window, the passages before and after it.
    size: int = 0

    @classmethod
    def parse(cls, text: str) -> Expansion:
        """`section`, `document` or `window:N`. Raises InvalidInput."""
        if text == "section":
            return cls(kind="section")
        if text == "document":
            return cls(kind="document")
        found = _WINDOW.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= WIDEST_WINDOW:
            raise InvalidInput(
                f"expand: must be 'section', 'document' or 'window:N' with N from 1 to {WIDEST_WINDOW}.",
                code="invalid_expand",
            )
        return cls(kind="window", size=int(found[1]))


class SearchOptions(TypedDict, total=False):
    """What may be said beside the query and where to look for it; `SearchRequest` has what each means."""

    top_k: int
    min_score: float | None
    topic: str
    where: Where | None
    filter_name: str | None
    mode: ModeName | None
    fusion: Fusion | None
    lexical_weight: float | None
    legs: Legs | None
    reranker: RerankerName | Literal["none"] | None
    expand: Expansion | None
    group_size: int | None
    diversity: float
    highlight: bool
    facets: Sequence[str]
    explain: bool
    trace: Sequence[str]
    patient: bool
    asked_by: str
    is_test: bool


def options_of(given: Mapping[str, Any]) -> SearchOptions:
    """Fields of a search's body as the service takes them; null is as if left out. Raises InvalidInput."""
    options = {key: value for key, value in given.items() if value is not None}
    if "where" in options:
        options["where"] = parse_where(options["where"])
    if "expand" in options:
        options["expand"] = Expansion.parse(options["expand"])
    if "filter" in options:
        options["filter_name"] = options.pop("filter")
    return cast("SearchOptions", options)


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A query and how it is to be answered."""

    query: str
    #: Results; below 1 it counts as 5 (B8.4).
    top_k: int = DEFAULT_LIMIT
    #: Least similarity, applied after merging and before the cut to `top_k` (FR-010, B5.3).
    min_score: float | None = None
    #: Takes the query's place where it is not empty (A3).
    topic: str = ""
    #: Nothing else is found, by either leg (B6.4).
    where: Where | None = None
    #: A filter that each of the collections keeps by this name; with `where`, both must hold.
    filter_name: str | None = None
    #: What is None, the collection's settings decide, then the mode's.
    mode: ModeName | None = None
    fusion: Fusion | None = None
    #: Of the words in a calibrated fusion, 0 to 1; without one of the collection's own the query decides.
    lexical_weight: float | None = None
    #: None leaves it to `USE_HYBRID_SEARCH`.
    legs: Legs | None = None
    #: What re-orders the best; None leaves it to the mode.
    reranker: RerankerName | Literal["none"] | None = None
    #: None shows the passage, or its parent where the collection has parents.
    expand: Expansion | None = None
    #: So many passages of one document at most; `top_k` counts documents then.
    group_size: int | None = None
    #: How much results are to differ from each other, 0 to 1.
    diversity: float = 0.0
    #: Whether the words of the query are marked in what is shown.
    highlight: bool = False
    #: Fields of the metadata whose values are counted.
    facets: Sequence[str] = ()
    explain: bool = False
    #: Ids of passages or sources of documents of which is told where they are.
    trace: Sequence[str] = ()
    #: For the query log: the name of a key or of a person, else of the door.
    asked_by: str = "server"
    #: For the query log: a run of a test case, which nobody asked.
    is_test: bool = False
    #: Nothing is cut when the mode's time is over.
    patient: bool = False

    @property
    def limit(self) -> int:
        return self.top_k if self.top_k >= 1 else DEFAULT_LIMIT

    @property
    def is_filtered(self) -> bool:
        return self.where is not None or self.filter_name is not None
