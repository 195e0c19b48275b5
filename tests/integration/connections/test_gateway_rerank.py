"""A13, A14: texts put in order by the service that a connection names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from tests.integration.access.conftest import client_with, keys_required  # noqa: F401 (fixtures)
from tests.integration.rerank.conftest import cross_encoder, cross_encoder_folder  # noqa: F401 (fixtures)
from tests.integration.rerank.remote_service import Answer, Service, by_length, running

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
#: As other servers of these calls say it (A13.3).
NOT_LOADED = "Cross-encoder not loaded. Start server with --cross-encoder flag."
DOCUMENTS = [{"id": "a", "text": "tea"}, {"id": "b", "text": "red fox"}, {"id": "a", "text": "rye bread"}]


@pytest.fixture
def scripted(client: Client) -> Iterator[Service]:
    """A server that puts long texts first, behind the connection `scripted`."""
    with running() as service:
        settings = {"url": service.url, "timeout_seconds": 1, "api_key": "rs_s3cret"}
        client.post("/api/connections", {"name": "scripted", "provider": "remote", "settings": settings}, JSON)
        yield service


def rerank(client: Client, service: str, **more: Any) -> Any:
    return client.post(f"/api/rerank?service={service}", {"query": "fox", "documents": DOCUMENTS, **more}, JSON)


def test_another_ragsite_answers_as_this_one(
    client: Client,
    far: str,
    cross_encoder: None,  # noqa: F811
) -> None:
    """A13.1, A13.2, A13.7."""
    for more in ({}, {"top_k": 2}):
        here = client.post("/rerank", {"query": "fox", "documents": DOCUMENTS, **more}, JSON)
        there = rerank(client, far, **more)
        assert (there.status_code, there.json()) == (200, here.json())
    assert there.json()["reranked"][0]["original_rank"] == 2
    # A13.6.
    assert rerank(client, far, documents=[]).json() == {"reranked": []}


def test_ids_that_are_there_twice_stay_apart(client: Client, scripted: Service) -> None:
    found = rerank(client, "scripted", top_k=2).json()["reranked"]
    assert [(one["id"], one["original_rank"]) for one in found] == [("a", 3), ("b", 2)]
    (asked,) = scripted.asked
    assert asked.path == "/rerank"
    assert asked.headers["authorization"] == "Bearer rs_s3cret"
    assert len({one["id"] for one in asked.body["documents"]}) == 3


def test_a_13_3_without_a_cross_encoder_there_it_is_said(client: Client, far: str) -> None:
    answer = rerank(client, far)
    assert (answer.status_code, answer.json()["code"]) == (503, "cross_encoder_not_loaded")
    assert "remote server has no cross-encoder" in answer.json()["detail"]


def slow(body: Any) -> Answer:
    import time

    time.sleep(1.5)
    return by_length(body)


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        (Answer(status=500, body={"detail": "Cross-encoder scoring failed: /secret/path"}), 502, "far_side_failed"),
        (Answer(status=404, body={"detail": "Not Found"}), 502, "far_side_failed"),
        (Answer(status=401), 502, "far_side_refused"),
        (Answer(status=503, body={"detail": NOT_LOADED}), 503, "cross_encoder_not_loaded"),
        (Answer(status=503), 503, "far_side_busy"),
        (Answer(body={"reranked": [{"id": "0", "score": 1}]}), 502, "far_side_failed"),
        (Answer(body={"reranked": [{"id": "0", "score": "high"}]}), 502, "far_side_failed"),
        (Answer(body={"reranked": [{"id": "other", "score": 1.0}]}), 502, "far_side_failed"),
        (slow, 504, "far_side_slow"),
    ],
)  # fmt: skip
def test_what_the_far_side_does_has_a_status_of_its_own(
    client: Client, scripted: Service, said: Answer | Callable[[Any], Answer], status: int, code: str
) -> None:
    scripted.rerank = [said]
    answer = rerank(client, "scripted")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not any(part in answer.content for part in (b"s3cret", b"127.0.0.1", b"/secret"))


def test_what_fails_in_passing_is_tried_again(client: Client, scripted: Service) -> None:
    """A14.1: asking twice changes nothing there."""
    scripted.rerank = [Answer(status=503), Answer(status=0), by_length]
    assert rerank(client, "scripted").status_code == 200
    assert len(scripted.asked) == 3


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": None}, 400, "invalid"),
        ({"documents": None}, 400, "invalid"),
        ({"texts": ["x"]}, 400, "invalid"),
        ({"top_k": 0}, 400, "invalid"),
    ],
)
def test_a_13_4_and_a_13_5_what_cannot_be_asked_is_told_here(
    client: Client, scripted: Service, body: Any, status: int, code: str
) -> None:
    answer = rerank(client, "scripted", **body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not scripted.asked


def test_it_takes_the_verb_search(scripted: Service, keys_required: None, client_with: Any) -> None:  # noqa: F811
    assert rerank(client_with("read", "write"), "scripted").status_code == 403
    assert not scripted.asked
    assert rerank(client_with("search", collections=("docs",)), "scripted").status_code == 200
