"""DSPy's way to a model: its requests to the port of chat models, one call each.

Tries, time limits, connections and secrets are the port's matter. DSPy caches nothing, tries nothing again, and opens
no connection of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dspy  # type: ignore[import-untyped]
from dspy.lm15 import (  # type: ignore[import-untyped]
    Message,
    Request,
    Response,
    ServerError,
    TextPart,
    Usage,
    response_to_events,
)

from answers_app.program.asking import Asking
from core_app.chat_models import Exchange
from core_app.errors import RagsiteError

_MOST_TOKENS = 2_048
# What it would keep in memory and below the home folder are people's questions and texts.
dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


class ChatEngine:
    """`dspy.LM(engine=...)` asks it; what it declares has answers asked for by their JSON Schema."""

    supports_response_schema = True
    supported_params = ("response_format", "max_tokens")

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def complete(self, request: Request) -> Response:
        """One answer. Raises ServerError, DSPy's word for it; the reason stands in `Asking.failure`."""
        *earlier, last = request.messages
        try:
            answer = self._asking.ask(
                system=_text(request.system),
                user=last.text or "",
                earlier=_exchanges(earlier),
                schema=_schema(request.config.response_format),
                max_tokens=request.config.max_tokens or _MOST_TOKENS,
            )
        except RagsiteError as error:
            raise ServerError(error.detail) from error
        return Response(
            id=None,
            model=answer.model,
            message=Message.assistant([TextPart(answer.text)]),
            finish_reason="stop",
            usage=Usage(
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                total_tokens=answer.input_tokens + answer.output_tokens,
            ),
        )

    def stream(self, request: Request) -> Iterator[Any]:
        """The same in one piece."""
        return iter(response_to_events(self.complete(request)))

    def close(self) -> None:
        """The model belongs to the process."""


def model_for(asking: Asking) -> dspy.LM:
    """DSPy's model for one question."""
    # The name is of no provider that DSPy knows, so nothing of it is looked up.
    return dspy.LM("ragsite/chat", engine=ChatEngine(asking), cache=False, num_retries=0)


def _text(system: Any) -> str:
    if system is None:
        return ""
    return system if isinstance(system, str) else "".join(part.text for part in system)


def _exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """Examples stand as pairs before what is asked."""
    texts = [(message.role, message.text or "") for message in messages]
    return [
        Exchange(user=user, assistant=assistant)
        for (role, user), (answering, assistant) in zip(texts[::2], texts[1::2], strict=False)
        if role == "user" and answering == "assistant"
    ]


def _schema(response_format: Any) -> dict[str, Any] | None:
    """Of OpenAI's form of asking for JSON; None where any object will do."""
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None
    inner = response_format.get("json_schema", response_format)
    found = inner.get("schema")
    return dict(found) if isinstance(found, dict) else None
