"""The port of chat models: whatever answers in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class ChatAnswer:
    """What a chat model wrote, and what that took."""

    #: Whatever it wrote, even where a schema was given: whoever asked checks it. Empty where it wrote nothing.
    text: str
    #: The model that answered, as the service says.
    model: str
    #: As the service counts them; 0 where it does not say.
    input_tokens: int
    output_tokens: int
    #: In the currency of the configured prices; None where those, or the tokens, are not known.
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Something that was asked before, with the answer that it got or should have got: an example to go by."""

    user: str
    assistant: str


class ChatModel(Protocol):
    """Answers in words: a large language model."""

    @property
    def connection(self) -> str:
        """The kind of service that is asked."""

    @property
    def model(self) -> str:
        """The model's name, as the service has it."""

    @property
    def concurrency(self) -> int:
        """How many calls of this process are answered at a time; further ones wait."""

    def complete(
        self,
        *,
        system: str,
        user: str,
        earlier: Sequence[Exchange] = (),
        schema: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        max_tokens: int = 1024,
    ) -> ChatAnswer:
        """The answer to `user` by the rules of `system`, in JSON of the JSON Schema if one is given.

        `earlier` stands before it in the conversation.

        `seconds` bounds everything: waiting for one's turn, and trying again what may go well the next time. Without
        it the configured time does. Raises Unavailable or ModelFailed; the log has the cause.
        """
