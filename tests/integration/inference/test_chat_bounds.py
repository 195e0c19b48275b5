"""Answers of chat services that are made to cost: too large, compressed, of very many parts. Over HTTP on loopback."""

from __future__ import annotations

import gzip
import json
import logging
import threading
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from core_app.config import Llm
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from inference_app.chat import calling
from inference_app.chat.anthropic_chat import AnthropicChat
from inference_app.chat.bounding import LARGEST_ANSWER
from inference_app.chat.openai_chat import OpenAiChat
from tests.integration.inference.scripted_chat import (
    MODEL,
    Server,
    Step,
    chunked,
    claims,
    compressed,
    running_server,
    says,
    sends,
    status,
)

SECONDS = 30.0
KEY = "sk-secret-0815"
SCHEMA = {"type": "object"}
TOO_LARGE = b" " * (LARGEST_ANSWER + 1)

Chat = OpenAiChat | AnthropicChat


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture(params=["openai", "anthropic"])
def chat(server: Server, request: pytest.FixtureRequest) -> Iterator[Chat]:
    section = Llm(
        provider=request.param,
        base_url=server.address,
        model="m",
        api_key=SecretStr(KEY),
        input_price=0.5,
        output_price=0.5,
    )
    chat: Chat = AnthropicChat(section) if request.param == "anthropic" else OpenAiChat(section)
    yield chat
    chat.close()


def ask(chat: Chat) -> str:
    return chat.complete(system="Be brief.", user="Say hello.", schema=SCHEMA, seconds=SECONDS, max_tokens=77).text


def said(chat: Chat) -> str:
    """The answer, or the error's code."""
    try:
        return ask(chat)
    except RagsiteError as error:
        return error.code


def failure(chat: Chat) -> RagsiteError:
    with pytest.raises(RagsiteError) as caught:
        ask(chat)
    return caught.value


def logged(caplog: pytest.LogCaptureFixture) -> str:
    (record,) = [one for one in caplog.records if one.message == "the chat model did not answer"]
    return str(vars(record)["cause"])


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (claims(100 * LARGEST_ANSWER), "larger than 1000000 bytes"),
        (sends(TOO_LARGE.decode()), "larger than 1000000 bytes"),
        (chunked(TOO_LARGE[:50_000], times=100), "larger than 1000000 bytes"),
        (chunked(b" ", times=100_000), "larger than 1000000 bytes"),
        (compressed(gzip.compress(b" " * 50 * LARGEST_ANSWER)), "compressed, which was not asked for"),
        (compressed(gzip.compress(b"{}")), "compressed, which was not asked for"),
    ],
    ids=["by its length", "with its length", "in pieces", "in very many pieces", "a bomb", "compressed"],
)
def test_what_is_too_large_or_compressed_is_no_answer(
    server: Server, chat: Chat, step: Step, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.plays(step, says('{"word": "hello"}'))
    error = failure(chat)
    assert (type(error), error.code) == (ModelFailed, "llm_bad_answer")
    assert said in logged(caplog)
    assert len(server.asked) == 1
    # Neither the loop nor the connections suffered.
    assert json.loads(ask(chat)) == {"word": "hello"}


def test_nothing_compressed_is_asked_for(server: Server, chat: Chat) -> None:
    server.plays(says("{}"))
    ask(chat)
    assert server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("body", [TOO_LARGE, gzip.compress(TOO_LARGE)], ids=["too large", "compressed"])
def test_a_refusal_with_such_a_body_is_what_its_status_says(
    server: Server, chat: Chat, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    is_plain = body == TOO_LARGE
    refusing, failing = (
        (chunked(body[:50_000], times=100, code=code) if is_plain else compressed(body, code=code))
        for code in (401, 503)
    )
    server.plays(refusing)
    assert (type(error := failure(chat)), error.code) == (ModelFailed, "llm_refused")
    assert ("larger than" if is_plain else "compressed") in logged(caplog)
    caplog.clear()
    server.plays(failing, says('{"word": "hello"}'))
    assert json.loads(ask(chat)) == {"word": "hello"}
    server.plays(*[failing] * 3)
    assert (type(error := failure(chat)), error.code) == (Unavailable, "llm_unavailable")


@pytest.mark.parametrize("unit", ["{}", "1", '{"type": "text"}', '{"message": {"tool_calls": [{}, {}, {}]}}'])
def test_very_many_choices_cost_no_more_than_reading_them(server: Server, chat: Chat, unit: str) -> None:
    """The libraries build an object of each: most of a minute, in which nothing else is answered."""
    parts = ",".join([unit] * (LARGEST_ANSWER // (len(unit) + 1) - 10))
    server.plays(sends(f'{{"choices": [{parts}], "content": [{parts}]}}'[:LARGEST_ANSWER]))
    server.otherwise = says('{"word": "hello"}')
    assert said(chat) in {"", "{}", "llm_bad_answer"}
    assert json.loads(ask(chat)) == {"word": "hello"}


@pytest.mark.parametrize(
    "sent",
    [
        "[" * 100_000,
        '{"choices": ' + "[" * 100_000,
        '{"choices": [{"message": {"content": ' + "[" * 900 + "]" * 900 + "}}]}",
        '{"choices": {"0": 1}, "content": {"0": 1}}',
        '{"choices": [7], "content": [7], "usage": {"prompt_tokens": "many", "input_tokens": "many"}}',
        '{"choices": [{"message": {}}], "content": [], "usage": {"prompt_tokens": 1e400, "input_tokens": 1e400}}',
        '{"choices": [{"message": {"content": "a"}}], "content": [], "usage": 1%s}' % ("0" * 5000),
    ],
)
def test_what_is_nested_or_of_another_form_is_no_error_of_the_server(server: Server, chat: Chat, sent: str) -> None:
    server.plays(sends(sent), says('{"word": "hello"}'))
    assert said(chat) in {"", "a", "llm_bad_answer"}
    assert json.loads(ask(chat)) == {"word": "hello"}


def test_a_count_of_tokens_that_is_no_count_is_none(server: Server, chat: Chat) -> None:
    """Whoever multiplies it by a price, or writes it down, must be able to."""
    tokens = '{"prompt_tokens": 1%s, "input_tokens": 1%s, "completion_tokens": -5, "output_tokens": -5}'
    said = '"content": [{"type": "text", "text": "a"}], "choices": [{"message": {"content": "a"}}]'
    server.plays(sends(f'{{{said}, "model": "{MODEL}", "usage": {tokens % ("0" * 4000, "0" * 4000)}}}'))
    answer = chat.complete(system="s", user="u", seconds=SECONDS)
    assert (answer.text, answer.input_tokens, answer.output_tokens, answer.cost) == ("a", 0, 0, None)


@pytest.mark.parametrize("charset", ["zlib_codec", "bz2_codec", "punycode", "unknown"])
def test_the_name_of_a_character_set_is_not_believed(
    server: Server, chat: Chat, charset: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Some of Python's decompress, and some take the square of the length."""
    caplog.set_level(logging.WARNING)
    words = json.dumps({"error": {"message": "no such model " + "\u00e9-" * 100_000}}, ensure_ascii=False)
    server.plays(sends(words, f"application/json; charset={charset}", code=404))
    assert failure(chat).code == "llm_refused"
    assert "no such model \u00e9-" in logged(caplog)


def test_a_refusal_of_very_many_parts_is_read_at_once(server: Server, chat: Chat) -> None:
    server.plays(status(401, "x " * 400_000))
    assert failure(chat).code == "llm_refused"


def test_closing_raises_nothing_where_the_loop_is_busy(
    server: Server, chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its thread ends as soon as it can, and another call starts another."""
    server.otherwise = says("{}")
    ask(chat)
    released, busy = threading.Event(), threading.Event()
    loop, thread = chat._running_loop(), chat._thread
    loop.call_soon_threadsafe(busy.set)
    loop.call_soon_threadsafe(released.wait)
    assert busy.wait(SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(calling, "_CLOSING_SECONDS", 0.05)
        chat.close()
    assert "the chat model's connections are not closed yet" in caplog.messages
    released.set()
    thread.join(SECONDS)
    assert loop.is_closed()
    chat.close()
