"""C-REQ-004: chat models by the services' own libraries, over HTTP to a server on this machine."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from core_app.chat_models import ChatAnswer
from core_app.config import Llm
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from inference_app.chat.anthropic_chat import AnthropicChat
from inference_app.chat.openai_chat import OLLAMA, OpenAiChat, _address
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
    held,
    refuses,
    running_server,
    says,
    sends,
    status,
    trickles,
)

KEY = "sk-secret-0815"
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
PROVIDERS = ("openai", "ollama", "anthropic")
#: Long enough for three tries on a busy machine.
SECONDS = 30.0
#: Over at once.
SHORT = 0.3

both = pytest.mark.parametrize("provider", ["openai", "anthropic"])
Chat = OpenAiChat | AnthropicChat


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@contextmanager
def connected(server: Server, provider: str, **more: Any) -> Iterator[Chat]:
    section = Llm.model_validate(
        {"provider": provider, "base_url": _base(server, provider), "api_key": KEY, "model": "asked-1", **more}
    )
    chat: Chat = AnthropicChat(section) if provider == "anthropic" else OpenAiChat(section)
    try:
        yield chat
    finally:
        chat.close()


def _base(server: Server, provider: str) -> str:
    return server.address if provider == "anthropic" else f"{server.address}/v1"


def ask(chat: Chat, *, schema: Any = SCHEMA, seconds: float = SECONDS) -> ChatAnswer:
    return chat.complete(system="Be brief.", user="Say hello.", schema=schema, seconds=seconds, max_tokens=77)


def failure(server: Server, provider: str, *steps: Step, seconds: float = SECONDS) -> RagsiteError:
    """What the caller is told."""
    server.plays(*steps)
    with connected(server, provider) as chat, pytest.raises(RagsiteError) as caught:
        ask(chat, seconds=seconds)
    return caught.value


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_with_what_it_took(server: Server, provider: str) -> None:
    server.plays(says('{"word": "hello"}'))
    with connected(server, provider, input_price=2.0, output_price=10.0) as chat:
        answer = ask(chat)
    assert json.loads(answer.text) == {"word": "hello"}
    assert (answer.model, answer.input_tokens, answer.output_tokens) == (MODEL, INPUT_TOKENS, OUTPUT_TOKENS)
    assert answer.cost == pytest.approx((INPUT_TOKENS * 2 + OUTPUT_TOKENS * 10) / 1e6)
    (asked,) = server.asked
    assert (asked.system, asked.user) == ("Be brief.", "Say hello.")
    assert asked.body["model"] == "asked-1"
    assert asked.body["max_tokens"] == 77


@both
def test_words_are_asked_for_without_a_schema(server: Server, provider: str) -> None:
    server.plays(says("hello"))
    with connected(server, provider) as chat:
        assert ask(chat, schema=None).text == "hello"
    assert not {"response_format", "tools", "tool_choice"} & server.asked[0].body.keys()


def test_a_schema_goes_as_each_service_wants_it(server: Server) -> None:
    server.otherwise = says('{"word": "a"}')
    for provider in ("openai", "anthropic"):
        with connected(server, provider) as chat:
            ask(chat)
    openai, anthropic = (asked.body for asked in server.asked)
    assert openai["response_format"]["json_schema"]["schema"] == SCHEMA
    assert openai["response_format"]["json_schema"]["strict"] is True
    assert anthropic["tools"][0]["input_schema"] == SCHEMA
    assert anthropic["tool_choice"]["name"] == anthropic["tools"][0]["name"]


@pytest.mark.parametrize("more", [{}, {"input_price": 1.0}, {"output_price": 1.0}])
def test_cost_is_unknown_without_both_prices(server: Server, more: dict[str, float]) -> None:
    server.plays(says("{}"))
    with connected(server, "openai", **more) as chat:
        assert ask(chat).cost is None


def test_cost_is_unknown_where_tokens_are_not_counted(server: Server) -> None:
    server.plays(says("{}", tokens=False))
    with connected(server, "openai", input_price=1.0, output_price=1.0) as chat:
        answer = ask(chat)
    assert (answer.input_tokens, answer.output_tokens, answer.cost) == (0, 0, None)


@pytest.mark.parametrize(
    ("refused", "forms"),
    [
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None, None]),
    ],
)
def test_a_form_that_is_refused_is_left_out_and_remembered(
    server: Server, refused: tuple[str, ...], forms: list[str | None]
) -> None:
    server.otherwise = refuses(*refused)(says('{"word": "a"}'))
    with connected(server, "openai") as chat:
        ask(chat)
        ask(chat)
    assert [asked.body.get("response_format", {}).get("type") for asked in server.asked] == forms
    # What no form says any more, the words do.
    assert json.dumps(SCHEMA) in server.asked[-1].system
    assert json.dumps(SCHEMA) not in server.asked[0].system


def test_a_temperature_that_is_refused_is_left_out_and_the_form_kept(server: Server) -> None:
    server.otherwise = refuses("temperature")(says('{"word": "a"}'))
    with connected(server, "openai") as chat:
        ask(chat)
    assert [asked.body.get("temperature") for asked in server.asked] == [0, None]
    assert server.asked[-1].body["response_format"]["type"] == "json_schema"


def test_a_request_that_nothing_helps_teaches_nothing(server: Server) -> None:
    server.plays(*[status(400, "the prompt is too long")] * 3, says("{}"))
    with connected(server, "openai") as chat:
        with pytest.raises(ModelFailed):
            ask(chat)
        ask(chat)
    assert server.asked[-1].body["response_format"]["type"] == "json_schema"


@both
def test_too_many_requests_are_tried_again_when_the_service_says(server: Server, provider: str) -> None:
    server.plays(status(429, Retry_After="0.05"), says('{"word": "a"}'))
    with connected(server, provider) as chat:
        assert json.loads(ask(chat).text) == {"word": "a"}
    assert len(server.asked) == 2


@both
def test_too_long_a_pause_is_not_waited_for(server: Server, provider: str) -> None:
    error = failure(server, provider, status(429, Retry_After="3600"), says("{}"))
    assert isinstance(error, Unavailable)
    assert len(server.asked) == 1


@both
@pytest.mark.parametrize("code", [500, 503, 529])
def test_errors_of_the_service_are_tried_three_times(server: Server, provider: str, code: int) -> None:
    error = failure(server, provider, *[status(code)] * 3, says("{}"))
    assert (type(error), error.code) == (Unavailable, "llm_unavailable")
    assert len(server.asked) == 3


@both
@pytest.mark.parametrize("code", [307, 400, 401, 403, 404])
def test_refusals_are_not_tried_again_and_redirects_not_followed(server: Server, provider: str, code: int) -> None:
    error = failure(server, provider, *[status(code, Location="http://127.0.0.1:9/v1")] * 5)
    assert (type(error), error.code) == (ModelFailed, "llm_refused")
    # 400 may be about the form: OpenAI's language has three.
    assert len(server.asked) == (3 if code == 400 and provider == "openai" else 1)


@both
def test_nobody_there(server: Server, provider: str) -> None:
    server.is_dead = True
    assert failure(server, provider).code == "llm_unavailable"
    server.server_close()
    assert failure(server, provider).code == "llm_unavailable"


@both
@pytest.mark.parametrize("step", [hangs, trickles])
def test_the_time_bounds_a_service_that_does_not_end(server: Server, provider: str, step: Step) -> None:
    error = failure(server, provider, step, seconds=SHORT)
    assert (type(error), error.code) == (Unavailable, "llm_unavailable")
    assert len(server.asked) == 1


@both
def test_a_call_that_is_given_up_is_hung_up(server: Server, provider: str) -> None:
    server.plays(trickles)
    with connected(server, provider) as chat:
        with pytest.raises(Unavailable):
            ask(chat, seconds=SHORT)
        assert server.hung_up.wait(SECONDS)


@both
def test_a_service_that_dies_while_it_answers(server: Server, provider: str) -> None:
    assert failure(server, provider, dies).code == "llm_unavailable"
    assert len(server.asked) == 1


@both
@pytest.mark.parametrize(
    "step",
    [
        sends("<html>Welcome</html>", "text/html"),
        sends("{]"),
        sends("[]"),
        sends('{"error": {"message": "busy"}}'),
        sends('{"choices": [], "content": null}'),
    ],
)
def test_what_is_no_chat_service_is_said_to_be_none(server: Server, provider: str, step: Step) -> None:
    error = failure(server, provider, step)
    assert (type(error), error.code) == (ModelFailed, "llm_bad_answer")


def test_a_model_that_says_nothing_gives_no_words(server: Server) -> None:
    server.plays(sends('{"choices": [{"message": {"role": "assistant", "content": null}}]}'))
    with connected(server, "openai") as chat:
        assert ask(chat).text == ""


def test_no_more_calls_at_a_time_than_configured(server: Server) -> None:
    server.otherwise = says("{}")
    with connected(server, "openai", concurrency=2) as chat:
        threads = [threading.Thread(target=ask, args=(chat,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.asked) == 8
    assert server.most_under_way <= 2


def test_waiting_for_one_s_turn_takes_no_longer_than_the_time(server: Server) -> None:
    arrived = threading.Event()

    def step(handler: Handler, asked: Asked) -> None:
        arrived.set()
        held(says("{}"))(handler, asked)

    server.plays(step)
    with connected(server, "openai", concurrency=1) as chat:
        first = threading.Thread(target=ask, args=(chat,))
        first.start()
        assert arrived.wait(SECONDS)
        with pytest.raises(Unavailable):
            ask(chat, seconds=SHORT)
        server.released.set()
        first.join()
    assert len(server.asked) == 1


@both
@pytest.mark.parametrize("step", [status(401, f"Incorrect API key provided: {KEY}"), status(500, KEY), hangs])
def test_the_key_is_in_no_log_and_no_error(
    server: Server, provider: str, step: Step, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure(server, provider, step, step, step, seconds=2.0)
    logged = "\n".join(str(vars(record)) + caplog.handler.format(record) for record in caplog.records)
    assert "the chat model did not answer" in logged
    assert KEY in str(server.asked[0].headers)
    assert KEY not in logged
    assert "Say hello" not in logged
    assert error.__cause__ is None
    assert error.__suppress_context__
    for private in (KEY, "127.0.0.1", "http", "Traceback"):
        assert private not in error.detail


def test_a_key_that_http_cannot_carry_is_not_logged_either(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with connected(server, "openai", api_key="sk-\nsecret-4711") as chat, pytest.raises(RagsiteError):
        ask(chat)
    assert caplog.records
    assert "4711" not in "".join(str(vars(record)) for record in caplog.records)


@both
def test_nothing_of_the_environment_is_used_or_sent(
    server: Server, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Mine: of-the-environment")
    server.plays(says("{}"))
    with connected(server, provider) as chat:
        ask(chat)
    headers = server.asked[0].headers
    assert "of-the-environment" not in str(headers)
    assert not [name for name in headers if name.startswith(("x-stainless", "openai-", "traceparent"))]
    assert headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    server.plays(says("{}"))
    with connected(server, "ollama", api_key=None) as chat:
        ask(chat)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", OLLAMA),
        ("http://gpu:11434", "http://gpu:11434/v1"),
        ("http://gpu:11434/", "http://gpu:11434/v1"),
        ("http://gpu/ollama/v1/", "http://gpu/ollama/v1"),
    ],
)
def test_where_ollama_is(given: str, address: str) -> None:
    assert _address(Llm(provider="ollama", base_url=given)) == address
