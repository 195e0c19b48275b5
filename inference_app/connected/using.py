"""Embedders and chat models by the names of their connections (`core_app.wiring`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from connections_app.models import Connection
from connections_app.opening import check_kind, opened
from core_app.chat_models import ChatAnswer
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from core_app.model_providers import ChatProvider, EmbeddingProvider, ProviderKind
from core_app.ports import QueryEngine, Vectors

_CHAT_FAILURES = {
    "llm_refused": "The chat model's service refused the request. Check the connection's API key, model and address; "
    "the server's log has its answer.",
    "llm_bad_answer": "What came from the chat model's service cannot be read. Check the connection's address; the "
    "server's log has the cause.",
}


@dataclass(frozen=True, kw_only=True)
class ConnectedEmbedder:
    """`core_app.ports.Embedder` of a connection as its row was read; asks no database."""

    row: Connection
    model: str
    batch_size: int

    @property
    def connection(self) -> str:
        return self.row.name

    @property
    def dimension(self) -> int:
        with self._provider() as provider:
            return provider.dimension

    @property
    def query_engine(self) -> QueryEngine:
        return QueryEngine(name=self.row.provider)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with self._provider() as provider:
            return provider.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        with self._provider() as provider:
            return provider.embed_query(text)

    def warm_up(self) -> None:
        """It is not this server's to prepare."""

    def count_tokens(self, text: str) -> int:
        with self._provider() as provider:
            return provider.count_tokens(text)

    @contextmanager
    def _provider(self) -> Iterator[EmbeddingProvider]:
        with opened(self.row) as provider:
            yield cast("EmbeddingProvider", provider)


@dataclass(frozen=True, kw_only=True)
class ConnectedChat:
    """`core_app.ports.ChatModel` of a connection as its row was read; asks no database."""

    row: Connection
    model: str
    concurrency: int

    @property
    def connection(self) -> str:
        return self.row.name

    def complete(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        max_tokens: int = 1024,
    ) -> ChatAnswer:
        with opened(self.row) as provider:
            chat = cast("ChatProvider", provider).chat
            try:
                return chat.complete(system=system, user=user, schema=schema, seconds=seconds, max_tokens=max_tokens)
            except ModelFailed as error:
                # Its own words name settings that are not used here.
                raise ModelFailed(_CHAT_FAILURES.get(error.code, error.detail), code=error.code) from error


def embedder_of(*, name: str) -> ConnectedEmbedder:
    """Raises Unavailable for a connection that is gone or cannot be used, and InvalidInput for another kind."""
    row = _found(name, ProviderKind.EMBEDDINGS, code="embedder_unavailable")
    with _usable(name, code="embedder_unavailable"), opened(row) as provider:
        known = cast("EmbeddingProvider", provider)
        return ConnectedEmbedder(row=row, model=known.model, batch_size=known.batch_size)


def chat_model_of(*, name: str) -> ConnectedChat:
    """Raises Unavailable for a connection that is gone or cannot be used, and InvalidInput for another kind."""
    row = _found(name, ProviderKind.CHAT, code="llm_not_configured")
    with _usable(name, code="llm_not_configured"), opened(row) as provider:
        known = cast("ChatProvider", provider)
        return ConnectedChat(row=row, model=known.model, concurrency=known.concurrency)


def _found(name: str, kind: ProviderKind, *, code: str) -> Connection:
    row = Connection.objects.filter(name=name).first()
    if row is None:
        raise Unavailable(
            f"There is no connection '{name}' any more. Make it again, or name another one.",
            code=code,
            retry_after_seconds=60,
        )
    check_kind(row, kind)
    return row


@contextmanager
def _usable(name: str, *, code: str) -> Iterator[None]:
    try:
        yield
    except RagsiteError as error:
        raise Unavailable(
            f"Connection '{name}' cannot be used: {error.detail}", code=code, retry_after_seconds=60
        ) from error
