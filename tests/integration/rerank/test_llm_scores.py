"""C-REQ-004: passages are scored by a chat model, over HTTP to a server on this machine."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from core_app.errors import ModelFailed, RagsiteError, Unavailable
from rerank_app import llm
from rerank_app.llm import CALL_CHARACTERS, CALL_PASSAGES, LlmScores
from rerank_app.prompting import PASSAGE_CHARACTERS, QUERY_CHARACTERS
from tests.integration.inference.scripted_chat import (
    INPUT_TOKENS,
    MODEL,
    OUTPUT_TOKENS,
    Asked,
    Handler,
    Server,
    Step,
    dies,
    hangs,
    judges,
    refuses,
    says,
    status,
)

SECONDS = 30.0
SHORT = 0.3
KEY = "sk-secret-0815"
TEXTS = ("tea rye", "red fox", "owl")
GOOD = '{"scores": [{"passage": 1, "score": 1}, {"passage": 2, "score": 9.5}, {"passage": 3, "score": 0}]}'
SCORES = [1.0, 9.5, 0.0]


@pytest.fixture
def chat(connect: Callable[..., None]) -> None:
    connect()


def scored(texts: tuple[str, ...] = TEXTS, *, query: str = "fox", seconds: float = SECONDS) -> LlmScores:
    return llm.score(query=query, texts=texts, seconds=seconds)


def failure(server: Server, *steps: Step, seconds: float = SECONDS) -> RagsiteError:
    server.plays(*steps)
    with pytest.raises(RagsiteError) as caught:
        scored(seconds=seconds)
    return caught.value


def uses(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.message == "reranked by a chat model"]


@pytest.mark.parametrize("provider", ["openai", "ollama", "anthropic"])
def test_c_req_004_every_passage_gets_a_score_from_0_to_10(
    server: Server, connect: Callable[..., None], provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    connect(provider)
    server.plays(says(GOOD))
    found = scored()
    assert found.scores == SCORES
    assert (found.model, found.calls, found.tokens) == (MODEL, 1, INPUT_TOKENS + OUTPUT_TOKENS)
    assert found.cost == pytest.approx((INPUT_TOKENS * 2 + OUTPUT_TOKENS * 10) / 1e6)
    (use,) = uses(caplog)
    assert (use["model"], use["calls"], use["tokens"], use["cost"], use["outcome"]) == (
        MODEL, 1, found.tokens, found.cost, "scored",
    )  # fmt: skip
    assert use["took_ms"] > 0


def test_c_req_004_without_a_chat_model_it_is_said_so() -> None:
    with pytest.raises(Unavailable) as caught:
        scored()
    assert caught.value.code == "llm_not_configured"


def test_c_req_004_nothing_is_asked_about_nothing(server: Server, chat: None) -> None:
    assert scored(()).scores == []
    assert server.asked == []


@pytest.mark.parametrize("answer", [f"```json\n{GOOD}\n```", f"```\n{GOOD}```", f"\n {GOOD} \n"])
def test_c_req_004_json_in_a_block_of_markdown_counts(server: Server, chat: None, answer: str) -> None:
    server.plays(says(answer))
    assert scored().scores == SCORES


def test_c_req_004_a_service_without_structured_output_is_asked_in_words(server: Server, chat: None) -> None:
    server.otherwise = refuses("json_schema", "json_object")(says(GOOD))
    assert scored().scores == SCORES
    assert scored().scores == SCORES
    assert len(server.asked) == 4


ONE = '{"passage": 1, "score": 1}'
TWO = '{"passage": 2, "score": 2}'
THREE = '{"passage": 3, "score": 3}'
WRONG = {
    "words": "Passage 2 is best.",
    "nothing": "",
    "broken": GOOD[:-3],
    "words around": f"Here you are: {GOOD}",
    "words after": f"{GOOD} I hope this helps.",
    "a list": f"[{ONE}, {TWO}, {THREE}]",
    "an order": '{"order": [2, 1, 3]}',
    "missing": f'{{"scores": [{ONE}, {TWO}]}}',
    "another": f'{{"scores": [{ONE}, {TWO}, {THREE}, {{"passage": 4, "score": 4}}]}}',
    "one from 0": f'{{"scores": [{{"passage": 0, "score": 1}}, {ONE}, {TWO}]}}',
    "twice": f'{{"scores": [{ONE}, {TWO}, {TWO}]}}',
    "twice beside all": f'{{"scores": [{ONE}, {TWO}, {THREE}, {{"passage": 2, "score": 10}}]}}',
    "another field": f'{{"scores": [{ONE}, {TWO}, {{"passage": 3, "score": 3, "why": "a"}}]}}',
    "another field beside": f'{{"scores": [{ONE}, {TWO}, {THREE}], "note": "a"}}',
    **{
        f"score {value}": f'{{"scores": [{ONE}, {TWO}, {{"passage": 3, "score": {value}}}]}}'
        for value in ("10.01", "11", "-0.5", "NaN", "Infinity", "1e999", "null", '"9"', "true", "[9]")
    },
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
def test_c_req_004_a_wrong_answer_is_asked_again_and_told_why(server: Server, chat: None, answer: str) -> None:
    server.plays(says(answer), says(GOOD))
    found = scored()
    assert found.scores == SCORES
    assert (found.calls, found.tokens) == (2, 2 * (INPUT_TOKENS + OUTPUT_TOKENS))
    first, second = server.asked
    assert first.user == second.user
    assert "Your last answer did not count" in second.system
    assert second.system.startswith(first.system)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_c_req_004_no_more_than_one_retry_on_a_wrong_answer(
    server: Server, connect: Callable[..., None], provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    connect(provider)
    error = failure(server, says(WRONG["twice"]), says(WRONG["missing"]), says(GOOD))
    assert (type(error), error.code) == (ModelFailed, "llm_bad_answer")
    assert len(server.asked) == 2
    (use,) = uses(caplog)
    assert (use["outcome"], use["calls"], use["tokens"]) == ("llm_bad_answer", 2, 2 * (INPUT_TOKENS + OUTPUT_TOKENS))
    assert use["cost"] > 0


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ([status(429, Retry_After="0.01"), says(GOOD)], 2),
        ([status(500), status(503), says(GOOD)], 3),
    ],
)
def test_c_req_004_what_passes_is_tried_again(server: Server, chat: None, steps: list[Step], asked: int) -> None:
    server.plays(*steps)
    assert scored().scores == SCORES
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (status(500), "llm_unavailable"),
        (status(429, Retry_After="3600"), "llm_rate_limited"),
        (hangs, "llm_unavailable"),
        (dies, "llm_unavailable"),
        (status(401), "llm_refused"),
    ],
    ids=["500", "429", "hangs", "dies", "401"],
)
def test_c_req_004_a_service_that_fails_is_an_error_for_the_caller_to_fall_back_on(
    server: Server, chat: None, step: Step, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = failure(server, step, step, step, seconds=SHORT if step is hangs else SECONDS)
    assert error.code == code
    (use,) = uses(caplog)
    assert (use["outcome"], use["levelname"], use["calls"]) == (code, "WARNING", 0)
    assert [record for record in caplog.records if record.message == "the chat model did not answer"]


def test_c_req_004_no_time_is_no_answer(server: Server, chat: None) -> None:
    assert failure(server, says(GOOD), seconds=0).code == "llm_unavailable"
    assert failure(server, says(GOOD), seconds=-1).code == "llm_unavailable"


def test_c_req_004_many_passages_are_split_and_asked_about_at_once(server: Server, chat: None) -> None:
    """No call is answered until all of them have been asked."""
    texts = tuple(f"{number} fox" for number in range(3 * CALL_PASSAGES - 1))
    together = threading.Barrier(3, timeout=SECONDS)

    def step(handler: Handler, asked: Asked) -> None:
        together.wait()
        judges(lambda text: int(text.split()[0]) / 10)(handler, asked)

    server.otherwise = step
    found = scored(texts)
    assert found.scores == [number / 10 for number in range(len(texts))]
    assert found.calls == 3
    assert found.cost == pytest.approx(3 * (INPUT_TOKENS * 2 + OUTPUT_TOKENS * 10) / 1e6)
    # Each call has numbers of its own, from 1.
    for asked in server.asked:
        assert [one["passage"] for one in asked.passages] == list(range(1, len(asked.passages) + 1))
        assert len(asked.passages) <= CALL_PASSAGES


def test_c_req_004_long_passages_are_cut_and_calls_stay_small(server: Server, chat: None) -> None:
    texts = tuple(f"{number} " + "x" * 50_000 for number in range(9))
    server.otherwise = judges(lambda text: int(text.split()[0]))
    found = scored(texts, query="q" * 50_000)
    assert found.scores == list(range(9))
    assert found.calls == 3
    for asked in server.asked:
        passages = asked.passages
        assert max(len(one["text"]) for one in passages) == PASSAGE_CHARACTERS
        assert sum(len(one["text"]) for one in passages) <= CALL_CHARACTERS
        assert len(json.loads(asked.user)["query"]) == QUERY_CHARACTERS


def test_c_req_004_the_first_call_that_fails_ends_it(server: Server, chat: None) -> None:
    """Others that hang are not waited for: the whole run would time out."""
    texts = tuple(f"{number} fox" for number in range(3 * CALL_PASSAGES))

    def step(handler: Handler, asked: Asked) -> None:
        if asked.passages[0]["text"].startswith("10 "):
            status(401)(handler, asked)
        else:
            hangs(handler, asked)

    server.otherwise = step
    with pytest.raises(ModelFailed) as caught:
        scored(texts, seconds=3600)
    assert caught.value.code == "llm_refused"


def test_c_req_004_neither_key_nor_texts_are_logged(
    server: Server, chat: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure(server, says("red fox and sk-no"), status(500, f"{KEY}"), status(401, KEY))
    logged = "\n".join(str(vars(record)) + caplog.handler.format(record) for record in caplog.records)
    assert len(server.asked) == 3
    for private in (KEY, "red fox", "tea rye"):
        assert private not in logged
        assert private not in error.detail
