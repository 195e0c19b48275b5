"""The ports of providers that bring a model: one that embeds, or one that answers in words.

They are found, listed and configured as those of vector systems are (`core_app.providers`), and say by `kind` what they
bring. A provider without a `kind` is a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Literal, Protocol

from core_app.chat_models import ChatModel
from core_app.ports import Vectors
from core_app.providers import Capability, ConnectionSettings, Provider, ProviderHealth


class ProviderKind(StrEnum):
    """What a connection brings."""

    STORE = "store"
    EMBEDDINGS = "embeddings"
    CHAT = "chat"


class ModelProvider(Protocol):
    """What all that bring a model have; may be used by several threads."""

    #: For people.
    label: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    settings_model: ClassVar[type[ConnectionSettings]]

    def __init__(self, settings: Any) -> None:
        """With an instance of `settings_model`. Connects at the first call, not here."""

    @property
    def model(self) -> str:
        """The model's name."""

    def close(self) -> None:
        """Give back what is held open."""

    def health_check(self) -> ProviderHealth:
        """How the service is now, within a few seconds, by what costs nothing. Raises nothing for what it does."""

    def try_out(self) -> ProviderHealth:
        """How the model answers one short text; `details` has the model and the milliseconds. It may cost a little.

        Raises nothing for what the service does.
        """


class EmbeddingProvider(ModelProvider, Protocol):
    """Turns text into vectors of one length.

    Raises FarSideFailed, `FarSideSlow` or `Unavailable` for what the other side did, and Conflict for vectors of
    another length than before (`dimension_mismatch`).
    """

    kind: ClassVar[Literal[ProviderKind.EMBEDDINGS]]

    @property
    def dimension(self) -> int:
        """Components of each vector. May ask the service, or load the model."""

    @property
    def batch_size(self) -> int:
        """Texts that are embedded together at best."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), in the order of `texts`."""

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dimension,)."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, or an estimate."""


class ChatProvider(ModelProvider, Protocol):
    """Brings a chat model."""

    kind: ClassVar[Literal[ProviderKind.CHAT]]

    @property
    def concurrency(self) -> int:
        """How many calls of this process are answered at a time."""

    @property
    def chat(self) -> ChatModel:
        """The one that the settings name. May import for seconds."""


AnyProvider = Provider | EmbeddingProvider | ChatProvider


def kind_of(provider: Any) -> ProviderKind:
    """Of a provider or its class. Raises ValueError for one that says what no kind is."""
    return ProviderKind(getattr(provider, "kind", ProviderKind.STORE))
