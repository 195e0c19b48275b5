"""BM25 beside bm25s, the library that others compare with: the same scores on the same terms."""

from __future__ import annotations

import random

import bm25s  # type: ignore[import-untyped]
import pytest

from core_app.ports import Bm25
from stores_app.lexical.analysis import document_terms, query_terms
from tests.integration.stores.shelf import Shelf

pytestmark = pytest.mark.django_db

WORDS = [
    "river",
    "bridge",
    "lamp",
    "winter",
    "bread",
    "garden",
    "copper",
    "signal",
    "harbour",
    "letter",
    "quiet",
    "moss",
]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 1.0), (1.5, 0.0)])
def test_b1_2_scores_equal_bm25s_in_lucene_s_form(shelf: Shelf, k1: float, b: float) -> None:
    """After adding in several writes, deleting and merging; to 1e-4, since bm25s has single precision."""
    chosen = random.Random(7)
    texts = {f"{n}": " ".join(chosen.choices(WORDS, k=chosen.randint(1, 60))) for n in range(200)}
    shelf.bm25 = Bm25(language="english", k1=k1, b=b)
    names = list(texts)
    for start in range(0, len(names), 40):
        shelf.add({name: texts[name] for name in names[start : start + 40]})
    gone = chosen.sample(names, 50)
    shelf.remove(*gone)
    while shelf.compact():
        pass
    left = [name for name in names if name not in gone]
    reference = bm25s.BM25(method="lucene", k1=k1, b=b)
    reference.index([document_terms(texts[name], "english") for name in left], show_progress=False)
    for _ in range(30):
        query = " ".join(chosen.sample(WORDS, chosen.randint(1, 6)))
        terms = [asked.term for asked in query_terms(query, "english")]
        expected = dict(zip(left, map(float, reference.get_scores(terms)), strict=True))
        found = dict(shelf.words(query, limit=len(left)))
        assert set(found) == {name for name, score in expected.items() if score > 0}
        assert found == pytest.approx({name: expected[name] for name in found}, abs=1e-4)
