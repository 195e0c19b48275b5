"""Searching the word index: the best chunks by BM25, with and without a filter, and why they are the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from collections_app.where_sql import Condition, condition
from core_app.ports import AskedTerm, Bm25, LexicalFound, LexicalHit, TermShare
from core_app.sql import statement
from core_app.where import Where
from stores_app.lexical import bm25 as scoring
from stores_app.lexical import names
from stores_app.lexical.analysis import query_terms, weights
from stores_app.lexical.bm25 import Scores
from stores_app.lexical.postings import CHUNK_ID, Postings
from stores_app.segments import Segments
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
        chosen, way = asked.best(scores, limit), "all scored"
    else:
        chosen, way = _Filtered(asked, scores, condition(where), limit).best()
    ids, best_scores = scoring.ordered(*chosen, limit=limit)
    hits = list(map(LexicalHit._make, zip(ids.tolist(), best_scores.tolist(), strict=True)))
    return LexicalFound(hits=hits, way=way, terms=asked.terms())


def shares(
    *, collection_ids: Sequence[int], bm25: Bm25, query: str, chunk_ids: Sequence[int]
) -> dict[int, list[TermShare]]:
    """What each term adds to the scores of these chunks, by chunk id; chunks without any are missing."""
    asked = _Asked.read(collection_ids, bm25, query)
    if asked is None:
        return {}
    ids = asked.segments.all_chunk_ids()
    places = np.flatnonzero(np.isin(ids, np.asarray(sorted(set(chunk_ids)), CHUNK_ID))).tolist()
    found = asked.segments.postings_at(sorted(asked.impacts), places)
    return {int(ids[place]): asked.shares(postings) for place, postings in found.items()}


#: Chunk ids and their scores, two arrays of one length.
_Scored = tuple[NDArray[np.int64], Scores]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A query, and what the segments in use have of its terms."""

    bm25: Bm25
    collection_ids: Sequence[int]
    #: Each with the words of the query that it stands for.
    words: Mapping[str, tuple[str, ...]]
    segments: Segments
    #: The terms that chunks have, how rare each is, and what it counts.
    impacts: Mapping[str, scoring.Impacts]
    idfs: Mapping[str, float]
    weights: Mapping[str, float]
    #: Of those that are names.
    rarities: Mapping[str, float]
    worths: Mapping[str, float]

    @classmethod
    def read(cls, collection_ids: Sequence[int], bm25: Bm25, query: str) -> _Asked | None:
        """None for a query without terms. Raises InvalidInput for an unknown language."""
        asked = query_terms(query, bm25.language)
        if not asked or not collection_ids:
            return None
        words: dict[str, tuple[str, ...]] = {}
        for term in asked:
            others = words.get(term.term, ())
            words[term.term] = others if term.word in others else (*others, term.word)
        terms = sorted(words)
        segments = Segments.in_use(collection_ids, language=bm25.language)
        impacts = segments.impacts(terms, bm25)
        chunks = {term: found.chunks for term, found in impacts.items()}
        rarities = names.rarities(asked, chunks)
        least = {name: impacts[name].least for name in names.made_of_words(asked, rarities)}
        parts = names.parts(rarities, least=least)
        idfs = {term: scoring.idf(chunks=segments.corpus.chunks, df=df) for term, df in chunks.items()}
        return cls(
            bm25=bm25,
            collection_ids=collection_ids,
            words=words,
            segments=segments,
            impacts=impacts,
            idfs=idfs,
            weights=names.raised(weights(asked, impacts), idfs=idfs, rarities=rarities, parts=parts),
            rarities=rarities,
            worths=names.worths(rarities, parts=parts, made_of_words=least),
        )

    def scores(self) -> Scores:
        factors = {term: self.weights[term] * idf for term, idf in self.idfs.items()}
        return scoring.score(self.impacts, factors=factors, size=self.segments.size)

    def best(self, scores: Scores, limit: int) -> _Scored:
        """A few more than the best `limit`."""
        places = scoring.candidates(scores, starts=self.segments.starts, limit=limit)
        return self.segments.chunk_ids(places), scores[places]

    def terms(self) -> list[AskedTerm]:
        return [self._term(term) for term in sorted(self.words)]

    def _term(self, term: str) -> AskedTerm:
        is_known = term in self.impacts
        return AskedTerm(
            term=term,
            weight=self.weights[term] if is_known else 0.0,
            chunks=self.impacts[term].chunks if is_known else 0,
            idf=self.idfs[term] if is_known else scoring.idf(chunks=self.segments.corpus.chunks, df=0),
            rarity=self.rarities.get(term, 0.0),
            worth=self.worths.get(term, 0.0),
            words=self.words[term],
        )

    def shares(self, postings: Mapping[str, Postings]) -> list[TermShare]:
        """What each term adds to the score of a chunk with these, one of each, in the order of the sum."""
        average, k1, b = self.segments.corpus.average, self.bm25.k1, self.bm25.b
        found = []
        for term in sorted(postings):
            one, weight, idf = postings[term], self.weights[term], self.idfs[term]
            (share,) = scoring.shares(one, factor=weight * idf, average=average, k1=k1, b=b).tolist()
            frequency, length = int(one.frequencies[0]), int(one.lengths[0])
            found.append(TermShare(term=term, weight=weight, idf=idf, frequency=frequency, length=length, share=share))
        return found


class _Filtered:
    """The best of the scored chunks that pass a filter: whichever is less work, asking them or finding all that do."""

    def __init__(self, asked: _Asked, scores: Scores, narrowed: Condition, limit: int) -> None:
        self._asked = asked
        self._scores = scores
        self._narrowed = narrowed
        self._limit = limit
        self._matches = int(np.count_nonzero(scores))

    def best(self) -> tuple[_Scored, str]:
        passed: list[_Scored] = []
        looked = found = 0
        wanted = max(_FIRST_LOOK * self._limit, _LEAST_LOOKED)
        for _ in range(2):
            passed.append(self._pass_of_the_next(wanted))
            found += len(passed[-1][0])
            looked = min(looked + wanted, self._matches)
            if found >= self._limit or looked == self._matches:
                return _together(passed), "best first, then filtered"
            # As many pass of the next as of those; one that none passed may have been just short of one.
            wanted = round(1.5 * (self._limit - found) * looked / max(found, 1))
            if min(wanted, self._matches - looked) > _MOST_LOOKED:
                break
        return _together([*passed, self._best_of_all_passing()]), "filter first"

    def _pass_of_the_next(self, count: int) -> _Scored:
        """Those that pass of the best so many, which are not looked at again."""
        places = scoring.candidates(self._scores, starts=self._asked.segments.starts, limit=count)
        ids, scores = self._asked.segments.chunk_ids(places), self._scores[places]
        best = np.lexsort((ids, -scores))[:count]
        self._scores[places[best]] = 0.0
        ids, scores = ids[best], scores[best]
        passes = np.isin(ids, self._ids("passing", chunk_ids=ids.tolist()))
        return ids[passes], scores[passes]

    def _best_of_all_passing(self) -> _Scored:
        passing = self._ids("all_passing", collection_ids=list(self._asked.collection_ids))
        self._scores[~np.isin(self._asked.segments.all_chunk_ids(), passing)] = 0.0
        return self._asked.best(self._scores, self._limit)

    def _ids(self, name: str, **params: list[int]) -> NDArray[np.int64]:
        with binary_cursor() as cursor:
            text = sql.SQL(statement(ROOM, name)).format(where=self._narrowed.sql)
            cursor.execute(text, {**params, **self._narrowed.params})
            return np.asarray([row[0] for row in cursor.fetchall()], CHUNK_ID)


def _together(parts: Sequence[_Scored]) -> _Scored:
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([scores for _, scores in parts])
