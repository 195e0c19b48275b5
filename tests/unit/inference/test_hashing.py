"""The embedder without a model: the same vectors everywhere, of length one."""

from __future__ import annotations

import numpy as np
import pytest

from core_app.config import Embedding
from inference_app.hashing import DIMENSION, HashingEmbedder


@pytest.fixture
def source() -> HashingEmbedder:
    return HashingEmbedder(Embedding(provider="hashing", model="hashing-256", connection="here"))


def test_it_says_who_it_is(source: HashingEmbedder) -> None:
    assert (source.connection, source.model, source.dimension) == ("here", "hashing-256", DIMENSION)


def test_vectors_have_length_one_whatever_the_case_and_order_of_words(source: HashingEmbedder) -> None:
    vector = source.embed_query("Tea and rye bread")
    assert vector.shape == (DIMENSION,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    np.testing.assert_allclose(source.embed_query("bread RYE and tea!"), vector, atol=1e-6)


def test_it_is_stable_between_processes_and_versions(source: HashingEmbedder) -> None:
    (place,) = np.flatnonzero(source.embed_query("tea"))
    assert (int(place), float(source.embed_query("tea")[place])) == (144, 1.0)


def test_a_text_without_words_is_the_zero_vector(source: HashingEmbedder) -> None:
    assert not source.embed_query(" ?! ").any()


def test_documents_are_embedded_in_order(source: HashingEmbedder) -> None:
    vectors = source.embed_documents(["tea", "rye"])
    assert vectors.shape == (2, DIMENSION)
    np.testing.assert_array_equal(vectors[1], source.embed_query("rye"))
    assert source.embed_documents([]).shape == (0, DIMENSION)


def test_tokens_are_words(source: HashingEmbedder) -> None:
    assert source.count_tokens("Tea, and rye-bread.") == 4
