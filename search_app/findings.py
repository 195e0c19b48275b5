"""What the legs of a search found, and what went wrong meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError
from psycopg.errors import QueryCanceled

from collections_app.models import Chunk, Collection
from collections_app.where_sql import filter_errors
from core_app.errors import FarSideSlow, InvalidInput, RagsiteError, StoreFailed, Unavailable
from core_app.ports import AskedTerm, Bm25, DenseHit, LexicalHit, Vectors
from core_app.snapshot import guarded, limit_statements
from core_app.where import Where
from core_app.wiring import app_settings
from search_app.results import SearchWarning

logger = logging.getLogger(__name__)

#: Of all that can be wrong with a statement, what the caller can mend.
_OF_THE_FILTER = ("invalid_where", "too_expensive")

Found = TypeVar("Found")


@dataclass(kw_only=True)
class Findings:
    """What the legs found, how similar it is, and what went wrong meanwhile."""

    #: Best first, of all collections together.
    dense: list[DenseHit] = field(default_factory=list)
    lexical: list[LexicalHit] = field(default_factory=list)
    #: By chunk id, 0 to 1; chunks without a comparable vector are missing.
    similarities: dict[int, float] = field(default_factory=dict)
    #: The query's words; of several corpora as `search_app.corpora` puts them together.
    terms: Sequence[AskedTerm] = ()
    #: What scores by words were multiplied by, by store and BM25.
    scaled: Mapping[tuple[str, Bm25], float] = field(default_factory=dict)
    #: How each leg looked, by collection or language.
    ways: dict[str, str] = field(default_factory=dict)
    #: The query's vectors by collection id: each is of the model that embeds for its collection.
    vectors: dict[int, Vectors] = field(default_factory=dict)
    #: Chunks that other systems hold alone, by the ids that stand for them here, which are below 0: rows of no table.
    guests: dict[int, Chunk] = field(default_factory=dict)
    warnings: list[SearchWarning] = field(default_factory=list)
    _failures: list[Exception] = field(default_factory=list)
    _succeeded: int = 0
    #: Whether statements have less time than the setting gives them.
    _is_bounded: bool = False

    @property
    def rankings(self) -> list[list[int]]:
        """Chunk ids of each leg, best first."""
        return [[hit.chunk_id for hit in self.dense], [hit.chunk_id for hit in self.lexical]]

    def note_guests(self, hits: Sequence[DenseHit], collection: Collection) -> None:
        """Keep what these hits say where no row does, as rows that are not stored."""
        for hit in hits:
            if hit.chunk is not None:
                self.guests[hit.chunk_id] = Chunk(
                    pk=hit.chunk_id,
                    collection=collection,
                    external_id=hit.chunk.id,
                    text=hit.chunk.text,
                    metadata=dict(hit.chunk.metadata),
                )

    def warn(self, code: str, detail: str) -> None:
        warning = SearchWarning(code=code, detail=detail)
        if warning not in self.warnings:
            self.warnings.append(warning)

    def said(self, warning: SearchWarning) -> bool:
        return warning in self.warnings

    def unsay(self, warning: SearchWarning) -> bool:
        """Whether it was said. It is no more."""
        was_said = self.said(warning)
        self.warnings = [said for said in self.warnings if said != warning]
        return was_said

    def attempt(
        self,
        code: str,
        detail: str,
        call: Callable[[], Found],
        *,
        where: Where | None = None,
        seconds: float | None = None,
        cut: SearchWarning | None = None,
    ) -> Found | None:
        """Run statements that may fail: the rest still has a transaction then (B3.5).

        What is wrong with the filter is the caller's mistake and raised. With `cut` they have `seconds` at most,
        and it is said when that was too little.
        """
        try:
            with filter_errors() if where is not None else nullcontext():
                found = self._guarded(call, seconds, cut)
        except Exception as error:
            if isinstance(error, InvalidInput) and error.code in _OF_THE_FILTER:
                raise
            logger.exception("part of a search failed: %s", code)
            self.warn(code, detail)
            self._failures.append(error)
            return None
        if found is not None:
            self._succeeded += 1
        return found

    def note_success(self) -> None:
        """Part of what then failed gave an answer."""
        self._succeeded += 1

    def _guarded(self, call: Callable[[], Found], seconds: float | None, cut: SearchWarning | None) -> Found | None:
        is_bounded = seconds is not None and seconds < app_settings().vector_database.statement_timeout_seconds
        try:
            with guarded(seconds=seconds if is_bounded else None):
                found = call()
        except (OperationalError, FarSideSlow) as error:
            is_over = isinstance(error, FarSideSlow) or isinstance(error.__cause__, QueryCanceled)
            if cut is None or not is_bounded or not is_over:
                raise
            self.warn(cut.code, cut.detail)
            return None
        # What fails is taken back together with its bound: that of before holds again.
        self._is_bounded = is_bounded
        return found

    def end_bound(self) -> None:
        """Give what follows the time that every statement has."""
        if self._is_bounded:
            limit_statements(app_settings().vector_database.statement_timeout_seconds)
        self._is_bounded = False

    def raise_if_nothing_worked(self) -> None:
        """Raise the first failure when no leg gave an answer; Unavailable for one that nobody foresaw."""
        if not self._failures or self._succeeded:
            return
        first = self._failures[0]
        if isinstance(first, FarSideSlow):
            raise StoreFailed(
                "The store of the collection did not answer in time. Try again; the server's log has the cause."
            ) from first
        if isinstance(first, RagsiteError | DatabaseError | InterfaceError):
            raise first
        raise Unavailable(
            "The search failed in each way that was asked for. Search in another way; the server's log has the cause.",
            code="search_failed",
        ) from first
