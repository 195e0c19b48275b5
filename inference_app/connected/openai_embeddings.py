"""Embeddings of a service that speaks OpenAI's language: OpenAI, OpenRouter, vLLM, Ollama, and others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from django.utils.translation import gettext_noop
from pydantic import Field

from core_app.errors import Conflict, FarSideFailed
from core_app.far_side import FarSide, FarSideError
from core_app.model_providers import ProviderKind
from core_app.ports import MAX_DIMENSION, Vectors
from core_app.providers import Capability, ConnectionSettings, ProviderHealth
from inference_app.connected.services import ServiceSettings, listing_health, told, tried_out
from inference_app.connected.tokens import estimated

_WHAT = "The embedding service"
#: Of one request: estimated, and less than the 300,000 that OpenAI takes.
_BATCH_TOKENS = 100_000
#: Characters of one request. A text that is longer by itself is sent alone.
_BATCH_CHARACTERS = 1_000_000
#: A thousand vectors of 4,000 numbers, as JSON has them.
_LARGEST_ANSWER = 96 * 1024 * 1024
#: A search waits for it.
_QUERY_SECONDS, _QUERY_WAIT_SECONDS = 10.0, 2.0
_SHORT_TEXT = "What is near?"


class OpenAiEmbeddingsSettings(ServiceSettings):
    """How the service is reached, and what it is asked for."""

    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)] | None = Field(
        None,
        title=gettext_noop("Dimension"),
        description=gettext_noop("Numbers of a vector, for models that can give fewer; empty for what it has."),
    )
    batch_size: Annotated[int, Field(ge=1, le=1000)] = Field(
        64, title=gettext_noop("Batch size"), description=gettext_noop("Most texts of one request.")
    )


class OpenAiEmbeddings:
    """`core_app.model_providers.EmbeddingProvider` over HTTP. A request changes nothing there, so it is tried again."""

    kind: ClassVar[Literal[ProviderKind.EMBEDDINGS]] = ProviderKind.EMBEDDINGS
    label: ClassVar[str] = gettext_noop("Embeddings by OpenAI's protocol")
    settings_model: ClassVar[type[ConnectionSettings]] = OpenAiEmbeddingsSettings
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.EMBEDDINGS})

    def __init__(self, settings: OpenAiEmbeddingsSettings) -> None:
        self._settings = settings
        self._far_side = FarSide(
            base_url=settings.url,
            headers={"Authorization": f"Bearer {settings.key}"} if settings.key else {},
            timeout_seconds=settings.timeout_seconds,
            largest_answer=_LARGEST_ANSWER,
            what="embedding service",
            keeps_limits=True,
        )
        self._guard = threading.Lock()
        self._dimension = settings.dimension

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def batch_size(self) -> int:
        return self._settings.batch_size

    @property
    def dimension(self) -> int:
        return self._dimension or int(self.embed_query(_SHORT_TEXT).shape[0])

    def close(self) -> None:
        self._far_side.close()

    def health_check(self) -> ProviderHealth:
        return listing_health(self._far_side, "models", self.model, _WHAT)

    def try_out(self) -> ProviderHealth:
        return tried_out(self.model, lambda: {"dimension": int(self.embed_query(_SHORT_TEXT).shape[0])})

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        seconds = self._settings.timeout_seconds
        parts = [self._embedded(batch, seconds, seconds) for batch in _batches(texts, self.batch_size)]
        if not parts:
            return np.empty((0, self.dimension), dtype=np.float32)
        found: Vectors = np.concatenate(parts)
        return found

    def embed_query(self, text: str) -> Vectors:
        found: Vectors = self._embedded([text], _QUERY_SECONDS, _QUERY_WAIT_SECONDS)[0]
        return found

    def count_tokens(self, text: str) -> int:
        return estimated(text)

    def _embedded(self, texts: Sequence[str], seconds: float, longest_wait: float) -> Vectors:
        body: dict[str, Any] = {
            "model": self.model,
            # An empty text is refused.
            "input": [text if text.strip() else "." for text in texts],
            "encoding_format": "float",
        }
        if self._settings.dimension is not None:
            body["dimensions"] = self._settings.dimension
        with told(_WHAT):
            answer = self._far_side.ask(
                "POST", "embeddings", body=body, seconds=seconds, longest_wait=longest_wait, is_repeatable=True
            )
            vectors = _vectors(answer, len(texts))
        self._check_dimension(vectors.shape[1])
        return vectors

    def _check_dimension(self, dimension: int) -> None:
        with self._guard:
            self._dimension = self._dimension or dimension
        if dimension > MAX_DIMENSION:
            raise FarSideFailed(
                f"{_WHAT} answers with vectors of {dimension} numbers; {MAX_DIMENSION} can be stored. "
                "Set the connection's dimension, or choose another model."
            )
        if dimension != self._dimension:
            raise Conflict(
                f"{_WHAT} answers with vectors of {dimension} numbers, where {self._dimension} were expected. "
                "Set the connection's dimension to what its model gives, or leave it empty.",
                code="dimension_mismatch",
            )


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """Texts of one request each, in their order."""
    batch: list[str] = []
    tokens = characters = 0
    for text in texts:
        own = estimated(text)
        is_full = len(batch) >= size or tokens + own > _BATCH_TOKENS or characters + len(text) > _BATCH_CHARACTERS
        if batch and is_full:
            yield batch
            batch, tokens, characters = [], 0, 0
        batch.append(text)
        tokens += own
        characters += len(text)
    if batch:
        yield batch


def _vectors(answer: Mapping[str, Any], count: int) -> Vectors:
    """Shape (count, dimension), in the order of what was asked. Raises FarSideError for what is no such answer."""
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != count:
        said = f"{len(data)} vectors" if isinstance(data, list) else "none"
        raise FarSideError(f"it was asked for {count} vectors and answered {said}")
    rows: list[Any] = [None] * count
    for place, one in enumerate(data):
        index = one.get("index", place) if isinstance(one, dict) else None
        if type(index) is not int or not 0 <= index < count or rows[index] is not None:
            raise FarSideError("its vectors do not say which texts they belong to")
        rows[index] = one.get("embedding")
    if any(not isinstance(row, list) or not row or len(row) != len(rows[0]) for row in rows):
        raise FarSideError("its vectors are no lists of one length")
    if any(type(number) not in (int, float) for row in rows for number in row):
        raise FarSideError("its vectors hold what is no number")
    try:
        with np.errstate(over="ignore"):
            found: Vectors = np.asarray(rows, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise FarSideError("its vectors hold numbers that are too large") from None
    if not np.isfinite(found).all():
        raise FarSideError("its vectors hold numbers that are not finite, or too large")
    return found
