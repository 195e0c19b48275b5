"""Scores against an independent reference, after any sequence of writes (B1.2, B1.3, B3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores_app.lexical import blocks, building
from stores_app.lexical.analysis import document_terms, query_terms, weights
from stores_app.lexical.blocks import SegmentPostings, find
from stores_app.lexical.bm25 import Corpus, candidates, idf, impacts, ordered, score
from stores_app.lexical.building import build, merge
from stores_app.lexical.postings import Members, Postings
from tests.unit.stores.reference import bm25

K1, B = 1.2, 0.75


@pytest.fixture(autouse=True, scope="module")
def few_bytes() -> Iterator[None]:
    """Blocks of a term or two, and merges in several portions, though there are few words."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "BLOCK_BYTES", 40)
        patched.setattr(building, "_SORTED_AT_ONCE", 3)
        yield


@dataclass
class InMemoryIndex:
    """Segments as the database keeps them, without the database."""

    members: dict[int, Members] = field(default_factory=dict)
    blocks: dict[int, list[tuple[str, bytes]]] = field(default_factory=dict)
    next_id: int = 1

    def add(self, chunks: Mapping[int, Sequence[str]]) -> None:
        lengths, postings = build([terms for _, terms in sorted(chunks.items())])
        members = Members(
            chunk_ids=np.array(sorted(chunks), "<i8"), lengths=lengths, dead=np.zeros(len(chunks), np.bool_)
        )
        self._keep(members, [postings])

    def _keep(self, members: Members, portions: Iterable[SegmentPostings]) -> None:
        self.members[self.next_id] = members
        self.blocks[self.next_id] = [block for postings in portions for block in postings.blocks(members.lengths)]
        self.next_id += 1

    def remove(self, chunk_ids: Sequence[int]) -> None:
        self.members = {key: members.without(chunk_ids) for key, members in self.members.items()}

    def merge(self, keys: Sequence[int]) -> None:
        parts = [(self.members[key], SegmentPostings.of(data for _, data in self.blocks[key])) for key in keys]
        members, portions = merge(parts)
        for key in keys:
            del self.members[key], self.blocks[key]
        self._keep(members, portions)

    def postings(self, term: str) -> dict[int, Postings]:
        """As the statement does: of each segment the last block that begins with the term or one before it."""
        found = {}
        for key, packed in self.blocks.items():
            before = [data for first, data in packed if first <= term]
            if before and (postings := find(term, before[-1])):
                found[key] = postings
        return found

    def search(
        self, asked: Mapping[str, float], *, limit: int, k1: float = K1, b: float = B
    ) -> list[tuple[int, float]]:
        parts = list(self.members.values())
        starts = dict(zip(self.members, np.cumsum([0, *(part.size for part in parts)]).tolist(), strict=False))
        corpus = Corpus(chunks=sum(part.live for part in parts), length=sum(part.live_length for part in parts))
        dead = np.concatenate([np.empty(0, np.bool_), *(part.dead for part in parts)])
        known = {}
        for term in asked:
            found = impacts(
                [(starts[key], postings) for key, postings in self.postings(term).items()],
                alive=~dead if dead.any() else None,
                average=corpus.average,
                k1=k1,
                b=b,
            )
            if found.chunks:
                known[term] = found
        factors = {term: asked[term] * idf(chunks=corpus.chunks, df=found.chunks) for term, found in known.items()}
        scores = score(known, factors=factors, size=len(dead))
        places = candidates(scores, starts=np.array(list(starts.values()), np.int64), limit=limit)
        ids = np.concatenate([np.empty(0, np.int64), *(part.chunk_ids for part in parts)])
        best, best_scores = ordered(ids[places], scores[places], limit=limit)
        return list(zip(best.tolist(), best_scores.tolist(), strict=True))


def test_the_formula_of_lucene_by_hand() -> None:
    """Without the constant k1 + 1: N 2, df 1, tf 2, dl 3, avgdl 2."""
    index = InMemoryIndex()
    index.add({1: ["a", "a", "b"], 2: ["b"]})
    expected = log(1 + 1.5 / 1.5) * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    [(found, value)] = index.search({"a": 1.0}, limit=5)
    assert found == 1
    assert value == pytest.approx(expected, abs=1e-12)


def test_idf_is_positive_even_for_a_term_in_every_chunk() -> None:
    assert idf(chunks=1000, df=1000) > 0
    assert idf(chunks=1000, df=1) > idf(chunks=1000, df=2)


TERMS = st.lists(st.sampled_from("abcde"), max_size=8)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(TERMS, min_size=1, max_size=5)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 25), max_size=5)),
        st.tuples(st.just("merge"), st.integers(0, 31)),
    ),
    max_size=12,
)


def replay(changes: Sequence[tuple[str, object]]) -> tuple[InMemoryIndex, dict[int, list[str]]]:
    """An index after these changes, and what should be in it."""
    index = InMemoryIndex()
    texts: dict[int, list[str]] = {}
    next_chunk = 0
    for kind, change in changes:
        if kind == "add":
            assert isinstance(change, list)
            # Descending ids: a segment has to bring them into order.
            new = {next_chunk + len(change) - at: terms for at, terms in enumerate(change, start=1)}
            next_chunk += len(change)
            texts |= new
            index.add(new)
        elif kind == "remove":
            assert isinstance(change, list)
            index.remove(change)
            texts = {key: terms for key, terms in texts.items() if key not in change}
        else:
            assert isinstance(change, int)
            keys = [key for at, key in enumerate(index.members) if change >> at & 1]
            if keys:
                index.merge(keys)
    return index, texts


@settings(max_examples=300, deadline=None)
@given(
    changes=CHANGES,
    asked=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.1, 1.0, 2.0]), min_size=1, max_size=4),
    limit=st.integers(1, 8),
    k1=st.sampled_from([0.0, 0.9, 1.2]),
    b=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
)
def test_any_sequence_of_writes_scores_like_a_fresh_index_and_the_reference(
    changes: list[tuple[str, object]], asked: dict[str, float], limit: int, k1: float, b: float
) -> None:
    index, texts = replay(changes)
    found = index.search(asked, limit=limit, k1=k1, b=b)

    fresh = InMemoryIndex()
    fresh.add(texts)
    # To the last bit: the same sums in the same order.
    assert found == fresh.search(asked, limit=limit, k1=k1, b=b)

    expected = bm25(texts, asked, k1=k1, b=b)
    scores = dict(expected)
    assert len(found) == min(limit, len(expected))
    assert [hit for _, hit in found] == pytest.approx([hit for _, hit in expected[:limit]], abs=1e-9)
    assert all(hit == pytest.approx(scores[key], abs=1e-9) for key, hit in found)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_ties_across_segments_go_to_the_smaller_id() -> None:
    index = InMemoryIndex()
    index.add({6: ["a"], 7: ["a"], 8: ["a"]})
    index.add({1: ["a"], 5: ["a"], 9: ["a"]})
    index.add({2: ["a"], 3: ["b"]})
    assert [key for key, _ in index.search({"a": 1.0}, limit=4)] == [1, 2, 5, 6]


def test_no_more_than_the_limit_of_each_segment_is_looked_up_for_ties() -> None:
    found = candidates(np.ones(1000), starts=np.array([0, 10, 990]), limit=3)
    assert found.tolist() == [0, 1, 2, 10, 11, 12, 990, 991, 992]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    size=st.sampled_from([0, 1, 999, 2048, 2049, 5000, 30_000]),
    share=st.sampled_from([0.0, 0.001, 0.05, 0.5, 1.0]),
    values=st.sampled_from([1, 3, 50, 10**9]),
    limit=st.integers(1, 400),
)
def test_candidates_contain_the_best_with_the_lowest_ids_among_equals(
    seed: int, size: int, share: float, values: int, limit: int
) -> None:
    """Of few scores and of many, distinct and mostly equal, rare and everywhere."""
    chance = np.random.default_rng(seed)
    scores = np.where(chance.random(size) < share, chance.integers(1, values, size, endpoint=True) / values, 0.0)
    bounds = np.unique(chance.integers(0, size + 1, 3))
    starts = np.concatenate([[0], bounds[(bounds > 0) & (bounds < size)]])
    # Ids ascend within a segment alone.
    ids = chance.permutation(len(starts))[np.searchsorted(starts, np.arange(size), side="right") - 1] * size
    ids = ids + np.arange(size)
    found = candidates(scores, starts=starts, limit=limit)
    assert len(found) == len(set(found.tolist()))
    everything = np.flatnonzero(scores)
    expected, _ = ordered(ids[everything], scores[everything], limit=limit)
    best, best_scores = ordered(ids[found], scores[found], limit=limit)
    assert best.tolist() == expected.tolist()
    assert (best_scores > 0).all()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_finds_nothing(limit: int) -> None:
    index = InMemoryIndex()
    index.add({1: ["a"]})
    assert index.search({"a": 1.0}, limit=limit) == []


def test_an_empty_index_and_chunks_without_words_find_nothing() -> None:
    index = InMemoryIndex()
    assert index.search({"a": 1.0}, limit=5) == []
    index.add({1: [], 2: []})
    assert index.search({"a": 1.0}, limit=5) == []


DOCUMENTS = {
    1: "moduleControllerCreate(name) registers a module with the server.",
    2: "How a module gets a controller: create the module, then create its controller. Module, controller, create.",
    3: "A player is connected when hook.player.connected fires.",
    4: "Hooks: a player connected, a player left. Connected players call the hook of the player.",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("moduleControllerCreate", 1),
        ("what does modulecontrollercreate do", 1),
        ("hook.player.connected", 3),
        ("HOOK.PLAYER.CONNECTED", 3),
        ("create a module", 2),
        ("players", 4),
    ],
)
def test_an_identifier_finds_its_document_and_so_do_its_words(query: str, first: int) -> None:
    """C-REQ-002: the document that has the whole comes before one that repeats the parts."""
    index = InMemoryIndex()
    index.add({key: document_terms(text, "english") for key, text in DOCUMENTS.items()})
    asked = query_terms(query, "english")
    vocabulary = {term.term for term in asked if index.postings(term.term)}
    found = index.search(weights(asked, vocabulary), limit=4)
    assert found[0][0] == first


def test_a_part_alone_finds_the_identifier() -> None:
    """C-REQ-002"""
    index = InMemoryIndex()
    index.add({1: document_terms("call moduleControllerCreate first", "english")})
    for query in ("controllers", "module", "creating"):
        assert [key for key, _ in index.search(weights(query_terms(query, "english"), set()), limit=1)] == [1]
