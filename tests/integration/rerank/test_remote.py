"""A14: documents are put in order by a service elsewhere, or left as they are."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from core_app import far_side
from core_app.errors import InvalidInput
from rerank_app import remote
from rerank_app.remote import LARGEST_ANSWER, RemoteReranker, wire_ids
from tests.integration.rerank.remote_service import HEALTHY, Answer, Service, by_length, running

DOCUMENTS: list[Mapping[str, Any]] = [
    {"id": "a", "text": "short", "page": 1, "score": 0.1},
    {"id": "b", "text": "the longest of them", "meta": {"deep": [1]}},
    {"id": "c", "text": "in between", "score": None},
]


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as service:
        yield service


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (remote, far_side):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    # tenacity sleeps by the module's function, whoever asks it to.
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=clock.sleep))
    return clock


@pytest.fixture
def reranker(service: Service) -> Iterator[RemoteReranker]:
    headers = {"Authorization": "Bearer rs_secret"}
    with RemoteReranker(base_url=service.url, headers=headers, timeout_seconds=20, name="far") as reranker:
        yield reranker


def ids(documents: Any) -> list[Any]:
    return [document.get("id") for document in documents]


def unchanged(reranker: RemoteReranker) -> None:
    before = json.dumps(DOCUMENTS)
    assert reranker.rerank(query="fox", documents=DOCUMENTS, top_k=None) is DOCUMENTS
    assert json.dumps(DOCUMENTS) == before


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    ours = [record for record in caplog.records if record.name == "rerank_app.remote"]
    assert all(vars(record)["reranker"] == "far" for record in ours)
    assert "rs_secret" not in caplog.text
    return [(record.levelno, record.getMessage()) for record in ours]


def test_a14_1_health_first_then_the_documents(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture
) -> None:
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS)) == ["b", "c", "a"]
    assert [asked.path for asked in service.asked] == ["/health", "/rerank"]
    assert {asked.headers["authorization"] for asked in service.asked} == {"Bearer rs_secret"}
    wanted = [{"id": document["id"], "text": document["text"]} for document in DOCUMENTS]
    assert service.asked[1].body == {"query": "fox", "documents": wanted}
    assert logged(caplog) == []


def test_a14_1_health_is_remembered_for_a_while(service: Service, reranker: RemoteReranker, clock: Clock) -> None:
    for _ in range(3):
        reranker.rerank(query="fox", documents=DOCUMENTS)
    assert len(service.calls("/health")) == 1
    clock.now += remote.HEALTH_SECONDS
    reranker.rerank(query="fox", documents=DOCUMENTS)
    assert len(service.calls("/health")) == 2


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a14_1_what_may_pass_is_tried_again(
    service: Service, reranker: RemoteReranker, clock: Clock, status: int
) -> None:
    service.rerank = [Answer(status), Answer(status, headers={"Retry-After": "2"}), *service.rerank]
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS)) == ["b", "c", "a"]
    assert len(service.calls("/rerank")) == 3
    assert clock.slept[1] >= 2.0


def test_a14_1_a_connection_that_breaks_is_tried_again(service: Service, reranker: RemoteReranker) -> None:
    service.health = [Answer(0), *service.health]
    service.rerank = [Answer(0), Answer(0), *service.rerank]
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS)) == ["b", "c", "a"]


def test_a14_2_documents_without_an_id_get_one_for_the_call(service: Service, reranker: RemoteReranker) -> None:
    documents: list[Any] = [{"text": "x"}, {"id": None, "text": "xxx"}, {"id": "document-0", "content": "xx"}]
    found = reranker.rerank(query="fox", documents=documents)
    assert [one["id"] for one in service.asked[1].body["documents"]] == ["document-0-1", "document-1", "document-0"]
    assert found == [
        {"id": None, "text": "xxx", "score": 0.3},
        {"id": "document-0", "content": "xx", "score": 0.2},
        {"text": "x", "score": 0.1},
    ]


def test_a14_2_ids_are_unique_and_can_be_sent() -> None:
    given: list[Any] = ["a", "a", 7, "7", True, "", "x" * 1001, "\ud800", "\0", 1.5, ["a"], " ", "document-1", "ü"]
    made = wire_ids([{"id": one} for one in given])
    assert len(set(made)) == len(given)
    assert (made[0], made[1], made[2], made[3]) == ("a", "document-1-1", "7", "document-3")
    assert made[-3:] == [" ", "document-1", "ü"]
    assert all(0 < len(one.encode()) <= 1000 for one in made)


@pytest.mark.parametrize("more", [{}, {"cross_encoder": None}, {"cross_encoder": {}}])
def test_a14_3_no_cross_encoder(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, more: Any
) -> None:
    service.health = [Answer(body={"status": "healthy"} | more)]
    unchanged(reranker)
    assert service.calls("/rerank") == []
    said = "the reranking service has no cross-encoder loaded, or the key is not valid; the order stays"
    assert logged(caplog) == [(logging.WARNING, said)]


def test_a14_4_nobody_listens(caplog: pytest.LogCaptureFixture, clock: Clock) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with RemoteReranker(base_url=url, headers={"X-Api-Key": "rs_secret"}, timeout_seconds=5, name="far") as far:
            unchanged(far)
            unchanged(far)
    first, second = logged(caplog)
    assert first[0] == logging.WARNING
    assert first[1].startswith("the reranking service cannot be reached, the order stays: ConnectError")
    assert second == first
    assert len(clock.slept) == 2, "three tries, and none for the second call"


def test_a14_4_health_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with RemoteReranker(base_url=url, timeout_seconds=0.05, name="far") as far:
            unchanged(far)
    assert [level for level, _ in logged(caplog)] == [logging.WARNING]
    assert "ReadTimeout" in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        Answer(503, {"status": "unhealthy"}),
        Answer(500, b""),
        Answer(301, HEALTHY, {"Location": "/elsewhere"}),
        Answer(200, b"<html>"),
        Answer(200, b"\xff"),
        Answer(200, [1]),
        Answer(200, b"[" * 100_000),
    ],
)
def test_a14_4_health_is_no_health(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    service.health = [answer]
    unchanged(reranker)
    assert service.calls("/rerank") == service.calls("/elsewhere") == []
    assert [level for level, _ in logged(caplog)] == [logging.WARNING]
    assert "cannot be reached" in caplog.text


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 418, 429, 500, 502, 503, 504])
def test_a14_5_an_error_of_the_endpoint(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    service.rerank = [Answer(status, {"detail": "No,\nthank\x1b[31m you.", "code": "no"})]
    unchanged(reranker)
    said = f"reranking failed, the order stays: it answered {status}: No, thank [31m you."
    assert logged(caplog) == [(logging.ERROR, said)]
    assert len(service.calls("/rerank")) == (3 if status in {429, 502, 503, 504} else 1)


def test_a14_5_a_service_that_wants_to_be_left_alone_is(service: Service, reranker: RemoteReranker) -> None:
    service.rerank = [Answer(503, {"detail": "Later."}, {"Retry-After": "60"})]
    unchanged(reranker)
    assert len(service.calls("/rerank")) == 1


def test_a14_5_health_is_asked_again_after_an_error(service: Service, reranker: RemoteReranker) -> None:
    service.rerank = [Answer(500, {}), *service.rerank]
    unchanged(reranker)
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS)) == ["b", "c", "a"]
    assert len(service.calls("/health")) == 2


def test_a14_6_top_k_is_passed_on(service: Service, reranker: RemoteReranker) -> None:
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS, top_k=2)) == ["b", "c"]
    assert service.asked[1].body["top_k"] == 2
    assert len(reranker.rerank(query="fox", documents=DOCUMENTS, top_k=9)) == 3


def test_a14_7_all_fields_but_the_score_stay(reranker: RemoteReranker) -> None:
    found = reranker.rerank(query="fox", documents=DOCUMENTS)
    assert found == [
        {"id": "b", "text": "the longest of them", "meta": {"deep": [1]}, "score": 1.9},
        {"id": "c", "text": "in between", "score": 1.0},
        {"id": "a", "text": "short", "page": 1, "score": 0.5},
    ]
    assert DOCUMENTS[0]["score"] == 0.1


def test_more_than_a_request_may_have_go_in_several(service: Service, reranker: RemoteReranker) -> None:
    documents = [{"id": f"d{number}", "text": "x" * (number % 1500)} for number in range(2300)]
    found = reranker.rerank(query="fox", documents=documents, top_k=3)
    assert ids(found) == ["d1499", "d1498", "d1497"]
    assert [len(asked.body["documents"]) for asked in service.calls("/rerank")] == [1000, 1000, 300]
    assert len(reranker.rerank(query="fox", documents=documents)) == 2300


def test_a_part_that_fails_leaves_all_as_they_were(service: Service, reranker: RemoteReranker) -> None:
    documents = [{"id": f"d{number}", "text": "x" * number} for number in range(1001)]
    service.rerank = [by_length, Answer(500, {})]
    assert reranker.rerank(query="fox", documents=documents) is documents


def test_no_documents_ask_nobody(service: Service, reranker: RemoteReranker) -> None:
    assert reranker.rerank(query="fox", documents=[]) == []
    assert service.asked == []


def test_characters_that_cannot_be_sent_cost_nothing_else(service: Service, reranker: RemoteReranker) -> None:
    documents: list[Any] = [{"id": "a", "text": "a\0b\ud800"}, {"id": "b"}, {"id": "c", "text": 5}]
    assert ids(reranker.rerank(query="fo\ud800x\0", documents=documents)) == ["a", "b", "c"]
    assert service.asked[1].body["query"] == "fo?x "
    assert [one["text"] for one in service.asked[1].body["documents"]] == ["a b?", "", ""]


def ranked(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"reranked": [{"id": key, "score": score, "original_rank": 1} for key, score in pairs]}


GOOD = ranked(("a", 1), ("b", 2), ("c", 3))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no",
        b"null",
        [],
        {},
        {"reranked": None},
        {"reranked": {"a": 1}},
        {"reranked": ["a", "b", "c"]},
        {"reranked": [None]},
        {"reranked": []},
        ranked(("a", 1), ("b", 2)),
        ranked(("a", 1), ("b", 2), ("b", 3)),
        ranked(("a", 1), ("b", 2), ("b", 3), ("c", 4)),
        ranked(("a", 1), ("b", 2), ("d", 3)),
        ranked(("a", 1), ("b", 2), (["c"], 3)),
        ranked(("a", 1), ("b", 2), ("c", None)),
        ranked(("a", 1), ("b", 2), ("c", "3")),
        ranked(("a", 1), ("b", 2), ("c", True)),
        ranked(("a", 1), ("b", 2), ("c", float("nan"))),
        ranked(("a", 1), ("b", 2), ("c", float("inf"))),
        ranked(("a", 1), ("b", 2), ("c", 10**400)),
        b'{"reranked": [{"id": "a", "score": ' + b"1" * 5000 + b"}]}",
    ],
)
def test_a14_5_an_answer_that_is_none(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, body: Any
) -> None:
    service.rerank = [Answer(body=body)]
    unchanged(reranker)
    assert [level for level, _ in logged(caplog)] == [logging.ERROR]
    assert len(service.calls("/rerank")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=json.dumps(GOOD).encode().ljust(LARGEST_ANSWER + 1)),
        Answer(body=GOOD, headers={"Content-Length": "1000", "Connection": "close"}),
        Answer(body=GOOD, headers={"Content-Encoding": "gzip"}),
        Answer(302, GOOD, {"Location": "/elsewhere"}),
        Answer(307, b"", {"Location": "http://127.0.0.1:1/rerank"}),
    ],
)
def test_a14_5_an_answer_that_is_not_read(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    service.rerank = [answer]
    unchanged(reranker)
    assert [level for level, _ in logged(caplog)] == [logging.ERROR]
    assert service.calls("/elsewhere") == []


def test_a14_5_an_answer_that_trickles_in(
    service: Service, reranker: RemoteReranker, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    """Each piece comes soon enough, and all of them together do not."""

    def slow(body: Any) -> Answer:
        clock.now += 20.5
        return by_length(body)

    service.rerank = [slow]
    unchanged(reranker)
    assert len(service.calls("/rerank")) == 1, "it would be at work twice"
    assert logged(caplog) == [(logging.ERROR, "reranking failed, the order stays: the answer took too long")]


def test_scores_decide_and_those_that_are_equal_stay_as_the_service_has_them(
    service: Service, reranker: RemoteReranker
) -> None:
    service.rerank = [Answer(body=ranked(("a", 1), ("c", 2), ("b", 2)))]
    assert ids(reranker.rerank(query="fox", documents=DOCUMENTS)) == ["c", "b", "a"]


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host", "http://", "http://host:x", "file:///etc"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidInput, match="starts with http"):
        RemoteReranker(base_url=url)


@pytest.mark.parametrize("header", [{"X": "a\nb"}, {"X\r": "a"}, {"X": "ä"}])
def test_a_header_that_is_none_is_refused_at_once(header: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="header"):
        RemoteReranker(base_url="http://host", headers=header)
