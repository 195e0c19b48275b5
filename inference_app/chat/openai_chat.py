"""OpenAI, Ollama, and whatever else speaks OpenAI's language, by the `openai` library.

Such services differ in what they understand. What one of them refuses is left out, and that is remembered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from core_app.config import Llm
from inference_app.chat.calling import CallingChat, Question, Reply
from inference_app.chat.connecting import count, http_client, json_object
from inference_app.chat.failures import Senseless, of_connection, of_status

OPENAI = "https://api.openai.com/v1"
OLLAMA = "http://127.0.0.1:11434/v1"
_CONNECT_SECONDS = 5.0
#: What says that a request has something in it that the service does not know.
_NOT_UNDERSTOOD = frozenset({400, 422})

Form = Literal["json_schema", "json_object", "words"]
_NEXT_FORM: dict[Form, Form] = {"json_schema": "json_object", "json_object": "words"}


@dataclass(frozen=True, kw_only=True)
class _Manner:
    """How the service is asked."""

    form: Form = "json_schema"
    has_temperature: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def after(self, words: str, *, has_schema: bool) -> _Manner | None:
        """How to ask after a refusal in these words; None where that is no matter of manner."""
        if self.has_temperature and "temperature" in words:
            return replace(self, has_temperature=False)
        if self.limit == "max_tokens" and "max_completion_tokens" in words:
            return replace(self, limit="max_completion_tokens")
        if has_schema and self.form in _NEXT_FORM:
            return replace(self, form=_NEXT_FORM[self.form])
        return None


class OpenAiChat(CallingChat):
    """The library is imported when the first of these is made: it takes a second."""

    def __init__(self, section: Llm) -> None:
        super().__init__(section)
        import httpx2  # noqa: PLC0415 - heavy
        import openai  # noqa: PLC0415 - heavy

        self._response = httpx2.Response
        self._library = openai
        key = self._key()
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",  # the library wants one; it is not sent
            base_url=_address(section),
            max_retries=0,
            http_client=http_client(has_key=bool(key)),
        )
        # OpenAI's own models that think know only the newer name.
        is_openai = section.provider == "openai" and not section.base_url
        self._manner = _Manner(limit="max_completion_tokens" if is_openai else "max_tokens")

    async def _reply(self, question: Question, seconds: float) -> Reply:
        manner = self._manner
        while True:
            try:
                content = await self._ask(question, manner, seconds)
            except self._library.APIConnectionError as error:
                raise of_connection(error) from error
            except self._library.APIStatusError as error:
                words = str(error)
                other = manner.after(words.lower(), has_schema=question.schema is not None)
                if error.status_code not in _NOT_UNDERSTOOD or other is None:
                    raise of_status(error.status_code, error.response.headers, words) from error
                manner = other
            else:
                # Only now: a request that nothing helps, such as too long a one, teaches nothing.
                self._manner = manner
                return _reply(json_object(content))

    async def _ask(self, question: Question, manner: _Manner, seconds: float) -> bytes:
        is_told = question.schema is not None and manner.form != "json_schema"
        system = _with_schema(question) if is_told else question.system
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": system}, *question.messages],
            manner.limit: question.max_tokens,
        }
        if manner.has_temperature:
            body["temperature"] = 0
        if question.schema is not None and manner.form != "words":
            body["response_format"] = _response_format(question, manner.form)
        timeout = self._library.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        response = await self._client.post(
            "/chat/completions", cast_to=self._response, body=body, options={"timeout": timeout}
        )
        return response.content

    async def _close(self) -> None:
        await self._client.close()


def _address(section: Llm) -> str:
    address = section.base_url.strip().rstrip("/")
    if section.provider != "ollama":
        return address or OPENAI
    if not address:
        return OLLAMA
    return address if urlsplit(address).path else f"{address}/v1"


def _response_format(question: Question, form: Form) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": question.schema}}


def _with_schema(question: Question) -> str:
    schema = json.dumps(question.schema, ensure_ascii=False)
    return f"{question.system}\n\nAnswer with JSON of this schema, and nothing before or after it:\n{schema}"


def _reply(completion: dict[str, Any]) -> Reply:
    """Some services leave out what they should say, and what is no JSON comes as text."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Senseless("its answer has no choices")
    message, usage = choices[0].get("message"), completion.get("usage")
    text = message.get("content") if isinstance(message, dict) else None
    model = completion.get("model")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        text=text if isinstance(text, str) else "",
        model=model if isinstance(model, str) else "",
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
    )
