"""Anthropic's models, by the `anthropic` library. JSON comes as the input of a tool that must be called."""

from __future__ import annotations

import json
from typing import Any

from core_app.config import Llm
from core_app.retrying import PassingFailure
from inference_app.chat.calling import CallingChat, Question, Reply
from inference_app.chat.connecting import http_client
from inference_app.chat.failures import Senseless, of_status

ANTHROPIC = "https://api.anthropic.com"
_CONNECT_SECONDS = 5.0
_TOOL = "answer"


class AnthropicChat(CallingChat):
    """The library is imported when the first of these is made: it takes two seconds."""

    def __init__(self, section: Llm) -> None:
        super().__init__(section)
        import anthropic  # noqa: PLC0415 - heavy

        self._library = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key=self._key(),
            base_url=section.base_url.strip() or ANTHROPIC,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client(has_key=True),
        )
        self._messages = self._client.messages  # imports more

    async def _reply(self, question: Question, seconds: float) -> Reply:
        more: dict[str, Any] = {}
        if question.schema is not None:
            more["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": dict(question.schema)}]
            more["tool_choice"] = {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True}
        try:
            message = await self._messages.create(
                model=self.model,
                max_tokens=question.max_tokens,
                system=question.system,
                messages=[{"role": "user", "content": question.user}],
                timeout=self._library.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
                **more,
            )
        except self._library.APIConnectionError as error:
            raise PassingFailure(str(error)) from error
        except self._library.APIStatusError as error:
            raise of_status(error.status_code, error.response.headers, str(error)) from error
        return _reply(message, has_schema=question.schema is not None)

    async def _close(self) -> None:
        await self._client.close()


def _reply(message: Any, *, has_schema: bool) -> Reply:
    """What is no JSON comes as text."""
    blocks = getattr(message, "content", None)
    if not isinstance(blocks, list):
        raise Senseless(f"no content in {str(message)[:200]}")
    usage = getattr(message, "usage", None)
    return Reply(
        text=_tool_input(blocks) if has_schema else "".join(getattr(block, "text", None) or "" for block in blocks),
        model=str(getattr(message, "model", None) or ""),
        input_tokens=int(getattr(usage, "input_tokens", None) or 0),
        output_tokens=int(getattr(usage, "output_tokens", None) or 0),
    )


def _tool_input(blocks: list[Any]) -> str:
    """Empty where the model called nothing."""
    for block in blocks:
        if getattr(block, "type", None) == "tool_use" and getattr(block, "name", None) == _TOOL:
            return json.dumps(block.input, ensure_ascii=False)
    return ""
