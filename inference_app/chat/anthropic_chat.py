"""Anthropic's models, by the `anthropic` library. JSON comes as the input of a tool that must be called."""

from __future__ import annotations

import json
from typing import Any

from core_app.config import Llm
from inference_app.chat.calling import CallingChat, Question, Reply
from inference_app.chat.connecting import count, http_client, json_object
from inference_app.chat.failures import Senseless, of_connection, of_status

ANTHROPIC = "https://api.anthropic.com"
_CONNECT_SECONDS = 5.0
_TOOL = "answer"


class AnthropicChat(CallingChat):
    """The library is imported when the first of these is made: it takes two seconds."""

    def __init__(self, section: Llm) -> None:
        super().__init__(section)
        import anthropic  # noqa: PLC0415 - heavy
        import httpx2  # noqa: PLC0415 - heavy

        self._response = httpx2.Response
        self._library = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key=self._key(),
            base_url=section.base_url.strip() or ANTHROPIC,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client(has_key=True),
        )

    async def _reply(self, question: Question, seconds: float) -> Reply:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": question.max_tokens,
            "system": question.system,
            "messages": question.messages,
        }
        if question.schema is not None:
            body["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": dict(question.schema)}]
            body["tool_choice"] = {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True}
        timeout = self._library.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            response = await self._client.post(
                "/v1/messages", cast_to=self._response, body=body, options={"timeout": timeout}
            )
        except self._library.APIConnectionError as error:
            raise of_connection(error) from error
        except self._library.APIStatusError as error:
            raise of_status(error.status_code, error.response.headers, str(error)) from error
        return _reply(json_object(response.content), has_schema=question.schema is not None)

    async def _close(self) -> None:
        await self._client.close()


def _reply(message: dict[str, Any], *, has_schema: bool) -> Reply:
    """What is no JSON comes as text."""
    content = message.get("content")
    if not isinstance(content, list):
        raise Senseless("its answer has no content")
    blocks = [block for block in content if isinstance(block, dict)]
    model, usage = message.get("model"), message.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        text=_tool_input(blocks) if has_schema else "".join(_text(block) for block in blocks),
        model=model if isinstance(model, str) else "",
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
    )


def _text(block: dict[str, Any]) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _tool_input(blocks: list[dict[str, Any]]) -> str:
    """Empty where the model called nothing."""
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("name") == _TOOL:
            return json.dumps(block.get("input"), ensure_ascii=False)
    return ""
