"""Searching the word index: the best chunks by BM25, with and without a filter, and why they are the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from collections_app.where_sql import Condition, condition
from core_app.errors import Unavailable
from core_app.ports import AskedTerm, Bm25, LexicalFound, LexicalHit, TermShare
from core_app.sql import statement
from core_app.where import Where
from stores_app.lexical import bm25 as scoring
from stores_app.lexical import names
from stores_app.lexical.analysis import query_terms, weights
from stores_app.lexical.blocks import find
from stores_app.lexical.postings import CHUNK_ID, Mask, Postings, unpack_bitmap
from stores_app.transfer import ROOM, binary_cursor

#: The best of the matches are asked first whether they pass a filter: so many for each that is wanted.
_FIRST_LOOK = 4
_LEAST_LOOKED = 256
#: Where more would have to be asked, all chunks that pass are found instead.
_MOST_LOOKED = 5000


def best(
    *, collection_ids: Sequence[int], bm25: Bm25, query: str, limit: int, where: Where | None = None
) -> LexicalFound:
    """The best chunks by BM25 among those that pass.

    Several statements: all must see the same snapshot, or a merge in between raises Unavailable.
    """
    asked = _Asked.read(collection_ids, bm25, query) if limit >= 1 else None
    if asked is None:
        return LexicalFound(hits=(), way="no words")
    scores = asked.scores()
    if where is None:
        found, way = _with_ids(scoring.candidates(scores, limit=limit)), "all scored"
    else:
        found, way = _Filtered(asked, scores, condition(where), limit).best()
    hits = [LexicalHit(chunk_id=chunk_id, score=score) for chunk_id, score in scoring.ordered(found, limit=limit)]
    return LexicalFound(hits=hits, way=way, terms=asked.terms())


def shares(
    *, collection_ids: Sequence[int], bm25: Bm25, query: str, chunk_ids: Sequence[int]
) -> dict[int, list[TermShare]]:
    """What each term adds to the scores of these chunks, by chunk id; chunks without any are missing."""
    asked = _Asked.read(collection_ids, bm25, query)
    if asked is None:
        return {}
    found: dict[int, list[TermShare]] = {}
    wanted = np.asarray(sorted(set(chunk_ids)), CHUNK_ID)
    for segment_id, ids in _members(list(asked.sizes)).items():
        places = np.flatnonzero(np.isin(ids, wanted))
        for place in places.tolist():
            if of_chunk := asked.shares_at(segment_id, place):
                found[int(ids[place])] = of_chunk
    return found


@dataclass(kw_only=True)
class _Asked:
    """A query, and what one statement returns of the collections for its terms."""

    collection_ids: Sequence[int]
    bm25: Bm25
    all_terms: Sequence[str]
    live: int = 0
    live_length: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    #: The terms that chunks have, in how many, and what each counts.
    postings: Mapping[str, Mapping[int, Postings]] = field(default_factory=dict)
    chunks: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    #: Of those that are names.
    rarities: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, collection_ids: Sequence[int], bm25: Bm25, query: str) -> _Asked | None:
        """None for a query without terms. Raises InvalidInput for an unknown language."""
        asked = query_terms(query, bm25.language)
        if not asked or not collection_ids:
            return None
        terms = sorted({term.term for term in asked})
        read = cls(
            collection_ids=collection_ids,
            bm25=bm25,
            all_terms=terms,
        )
        read._take(terms)
        read.chunks = {term: sum(len(one.ordinals) for one in found.values()) for term, found in read.postings.items()}
        read.rarities = names.rarities(asked, read.chunks)
        idfs = {term: scoring.idf(chunks=read.live, df=df) for term, df in read.chunks.items()}
        read.weights = names.raised(weights(asked, read.postings), idfs=idfs, rarities=read.rarities)
        return read

    def _take(self, terms: list[str]) -> None:
        dead: dict[int, Mask] = {}
        found: dict[str, dict[int, Postings]] = {}
        with binary_cursor() as cursor:
            cursor.execute(
                statement(ROOM, "lexical"),
                {"collection_ids": list(self.collection_ids), "language": self.bm25.language, "terms": terms},
            )
            for term, segment_id, data, size, live, live_length in cursor.fetchall():
                if term is None:
                    self.sizes[segment_id] = size
                    self.live += live
                    self.live_length += live_length
                    if data:
                        dead[segment_id] = unpack_bitmap(data, size=size)
                elif (postings := find(term, data)) is not None:
                    found.setdefault(term, {})[segment_id] = postings
        self.postings = scoring.live_postings(found, dead)

    @property
    def corpus(self) -> scoring.Corpus:
        return scoring.Corpus(chunks=self.live, length=self.live_length)

    def scores(self) -> dict[int, scoring.Scores]:
        return scoring.score(
            postings=self.postings,
            weights=self.weights,
            sizes=self.sizes,
            corpus=self.corpus,
            k1=self.bm25.k1,
            b=self.bm25.b,
        )

    def terms(self) -> list[AskedTerm]:
        return [self._term(term) for term in self.all_terms]

    def _term(self, term: str) -> AskedTerm:
        chunks = self.chunks.get(term, 0)
        return AskedTerm(
            term=term,
            weight=self.weights.get(term, 0.0),
            chunks=chunks,
            idf=scoring.idf(chunks=self.live, df=chunks),
            rarity=self.rarities.get(term, 0.0),
        )

    def shares_at(self, segment_id: int, ordinal: int) -> list[TermShare]:
        """In the order in which scoring adds them up."""
        found = []
        for term in sorted(self.postings):
            postings = self.postings[term].get(segment_id)
            at = None if postings is None else int(np.searchsorted(postings.ordinals, ordinal))
            if postings is None or at is None or at == len(postings.ordinals) or postings.ordinals[at] != ordinal:
                continue
            one = postings.between(at, at + 1)
            about = self._term(term)
            share = scoring.shares(
                one, weight=about.weight * about.idf, average=self.corpus.average, k1=self.bm25.k1, b=self.bm25.b
            )
            found.append(
                TermShare(
                    term=term,
                    weight=about.weight,
                    idf=about.idf,
                    frequency=int(one.frequencies[0]),
                    length=int(one.lengths[0]),
                    share=float(share[0]),
                )
            )
        return found


class _Filtered:
    """The best of the scored chunks that pass a filter: whichever is less work, asking them or finding all that do."""

    def __init__(self, asked: _Asked, scores: dict[int, scoring.Scores], narrowed: Condition, limit: int) -> None:
        self._asked = asked
        self._scores = scores
        self._narrowed = narrowed
        self._limit = limit
        self._matches = sum(int(np.count_nonzero(found)) for found in scores.values())

    def best(self) -> tuple[list[tuple[int, float]], str]:
        passed: list[tuple[int, float]] = []
        looked = 0
        wanted = max(_FIRST_LOOK * self._limit, _LEAST_LOOKED)
        for _ in range(2):
            passed += self._pass_of_the_next(wanted)
            looked = min(looked + wanted, self._matches)
            if len(passed) >= self._limit or looked == self._matches:
                return passed, "best first, then filtered"
            # As many pass of the next as of those; one that none passed may have been just short of one.
            wanted = round(1.5 * (self._limit - len(passed)) * looked / max(len(passed), 1))
            if min(wanted, self._matches - looked) > _MOST_LOOKED:
                break
        return passed + self._best_of_all_passing(), "filter first"

    def _pass_of_the_next(self, count: int) -> list[tuple[int, float]]:
        """Those that pass of the best so many, which are not looked at again."""
        chosen = scoring.candidates(self._scores, limit=count)
        with_ids = _with_ids(chosen)
        places = {chunk_id: place for (chunk_id, _), place in zip(with_ids, chosen, strict=True)}
        next_best = scoring.ordered(with_ids, limit=count)
        for chunk_id, _ in next_best:
            self._scores[places[chunk_id].segment_id][places[chunk_id].ordinal] = 0.0
        passing = set(self._ids("passing", chunk_ids=[chunk_id for chunk_id, _ in next_best]))
        return [(chunk_id, score) for chunk_id, score in next_best if chunk_id in passing]

    def _best_of_all_passing(self) -> list[tuple[int, float]]:
        passing = np.asarray(self._ids("all_passing", collection_ids=list(self._asked.collection_ids)), CHUNK_ID)
        for segment_id, ids in _members(list(self._scores)).items():
            self._scores[segment_id][~np.isin(ids, passing)] = 0.0
        return _with_ids(scoring.candidates(self._scores, limit=self._limit))

    def _ids(self, name: str, **params: list[int]) -> list[int]:
        with binary_cursor() as cursor:
            text = sql.SQL(statement(ROOM, name)).format(where=self._narrowed.sql)
            cursor.execute(text, {**params, **self._narrowed.params})
            return [row[0] for row in cursor.fetchall()]


def _members(segment_ids: list[int]) -> dict[int, NDArray[np.int64]]:
    """The chunk ids of whole segments, by ordinal."""
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_ids"), {"segment_ids": segment_ids})
        found = {segment_id: np.frombuffer(data, CHUNK_ID) for segment_id, data in cursor.fetchall()}
    if len(found) < len(segment_ids):
        raise _changed()
    return found


def _with_ids(candidates: Sequence[scoring.Candidate]) -> list[tuple[int, float]]:
    """Chunk id and score of each candidate, in their order."""
    if not candidates:
        return []
    with binary_cursor() as cursor:
        cursor.execute(
            statement(ROOM, "chunk_ids"),
            {
                "segment_ids": [candidate.segment_id for candidate in candidates],
                "ordinals": [candidate.ordinal for candidate in candidates],
            },
        )
        ids = {
            (segment_id, ordinal): int.from_bytes(data, "little", signed=True)
            for segment_id, ordinal, data in cursor.fetchall()
        }
    if len(ids) < len(candidates):
        raise _changed()
    return [(ids[candidate.segment_id, candidate.ordinal], candidate.score) for candidate in candidates]


def _changed() -> Unavailable:
    return Unavailable("The collection was changed while it was searched. Try again.", code="index_changed")
