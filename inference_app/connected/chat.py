"""Chat models that connections bring: the classes of the configured one, with settings of their own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from core_app.chat_models import ChatModel
from core_app.config import Llm
from core_app.far_side import FarSide
from core_app.model_providers import ProviderKind
from core_app.providers import Capability, ConnectionSettings, ProviderHealth
from inference_app.connected.making import called_chat
from inference_app.connected.services import ServiceSettings, listing_health, tried_out

_WHAT = "The chat model's service"
_LARGEST_LIST = 8 * 1024 * 1024
_TRIAL_TOKENS = 64
_ANTHROPIC_VERSION = "2023-06-01"


class OpenAiChatSettings(ServiceSettings):
    """How the service is reached, and how much it is asked at a time."""

    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0,
        title=gettext_noop("Time limit"),
        description=gettext_noop("Seconds that an answer may take, with all tries."),
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(
        8, title=gettext_noop("Calls at a time"), description=gettext_noop("Most calls of one process.")
    )
    input_price: Annotated[float, Field(ge=0)] | None = Field(
        None,
        title=gettext_noop("Price of input"),
        description=gettext_noop("Of a million tokens, in whatever currency; the log has the cost of each use."),
    )
    output_price: Annotated[float, Field(ge=0)] | None = Field(
        None, title=gettext_noop("Price of output"), description=gettext_noop("Of a million tokens.")
    )


class AnthropicChatSettings(OpenAiChatSettings):
    """Anthropic asks for a key; its address is known."""

    url: str = Field(
        "https://api.anthropic.com",
        title=gettext_noop("Address"),
        description=gettext_noop("Of the service, without `/v1`."),
        pattern=r"^https?://[^\s/]+",
        max_length=2000,
    )
    api_key: SecretStr = Field(
        title=gettext_noop("API key"), description=gettext_noop("Of Anthropic's console."), min_length=1
    )


class _ChatProvider:
    """`core_app.model_providers.ChatProvider`. The library is imported when the model is first asked."""

    kind: ClassVar[Literal[ProviderKind.CHAT]] = ProviderKind.CHAT
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    _service: ClassVar[Literal["openai", "anthropic"]]
    _list: ClassVar[str]

    def __init__(self, settings: OpenAiChatSettings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._chat: ChatModel | None = None
        self._far_side = FarSide(
            base_url=settings.url,
            headers=self._headers(settings.key),
            timeout_seconds=settings.timeout_seconds,
            largest_answer=_LARGEST_LIST,
            what="chat model's service",
        )

    @staticmethod
    def _headers(key: str) -> Mapping[str, str]:
        raise NotImplementedError

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def concurrency(self) -> int:
        return self._settings.concurrency

    @property
    def chat(self) -> ChatModel:
        with self._guard:
            if self._chat is None:
                own = self._settings
                self._chat = called_chat(
                    Llm(
                        provider=self._service,
                        base_url=own.url,
                        api_key=own.api_key,
                        model=own.model,
                        timeout_seconds=own.timeout_seconds,
                        concurrency=own.concurrency,
                        input_price=own.input_price,
                        output_price=own.output_price,
                    )
                )
            return self._chat

    def close(self) -> None:
        self._far_side.close()
        closing: Any = self._chat
        if closing is not None:
            closing.close()

    def health_check(self) -> ProviderHealth:
        return listing_health(self._far_side, self._list, self.model, _WHAT)

    def try_out(self) -> ProviderHealth:
        return tried_out(self.model, self._asked)

    def _asked(self) -> Mapping[str, Any]:
        answer = self.chat.complete(system="Answer in one word.", user="Are you there?", max_tokens=_TRIAL_TOKENS)
        return {"answered_by": answer.model}


class OpenAiChatProvider(_ChatProvider):
    label: ClassVar[str] = gettext_noop("Chat model by OpenAI's protocol")
    settings_model: ClassVar[type[ConnectionSettings]] = OpenAiChatSettings
    _service = "openai"
    _list = "models"

    @staticmethod
    def _headers(key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}


class AnthropicChatProvider(_ChatProvider):
    label: ClassVar[str] = gettext_noop("Chat model of Anthropic")
    settings_model: ClassVar[type[ConnectionSettings]] = AnthropicChatSettings
    _service = "anthropic"
    _list = "v1/models"

    @staticmethod
    def _headers(key: str) -> Mapping[str, str]:
        return {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}
