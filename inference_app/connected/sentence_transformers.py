"""Embeddings by a model that this server runs, beside the configured one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from django.utils import timezone
from django.utils.translation import gettext_noop
from pydantic import Field, field_validator

from connections_app.folders import allowed_path
from core_app.config import Embedding
from core_app.errors import RagsiteError, Unavailable
from core_app.model_providers import ProviderKind
from core_app.ports import Embedder, Vectors
from core_app.providers import Capability, ConnectionSettings, ProviderHealth
from inference_app.connected.making import local_embedder
from inference_app.connected.services import tried_out

_SHORT_TEXT = "What is near?"


class SentenceTransformersSettings(ConnectionSettings):
    """Which model, and how it is run."""

    addresses: ClassVar[frozenset[str]] = frozenset()

    model: str = Field(
        title=gettext_noop("Model"),
        description=gettext_noop(
            "A folder below one of `Security:ConnectionFolders`, the model of an installed package, or a hub name."
        ),
        min_length=1,
        max_length=500,
    )
    batch_size: Annotated[int, Field(ge=1, le=1024)] = Field(
        32, title=gettext_noop("Batch size"), description=gettext_noop("Most texts that are embedded together.")
    )

    @field_validator("model")
    @classmethod
    def _is_allowed(cls, value: str) -> str:
        """A folder is loaded only from where connections may have files."""
        try:
            if Path(value).is_absolute() or ".." in Path(value).parts or Path(value).is_dir():
                allowed_path(str(Path(value).resolve()))
        except RagsiteError as error:
            raise ValueError(error.detail.rstrip(".")) from None
        return value


class SentenceTransformers:
    """`core_app.model_providers.EmbeddingProvider` in this process; the model is loaded at first use."""

    kind: ClassVar[Literal[ProviderKind.EMBEDDINGS]] = ProviderKind.EMBEDDINGS
    label: ClassVar[str] = gettext_noop("Sentence Transformers on this server")
    settings_model: ClassVar[type[ConnectionSettings]] = SentenceTransformersSettings
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.EMBEDDINGS})

    def __init__(self, settings: SentenceTransformersSettings) -> None:
        self._settings = settings
        self._embedder: Embedder = local_embedder(Embedding(model=settings.model, batch_size=settings.batch_size))

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def batch_size(self) -> int:
        return self._settings.batch_size

    @property
    def dimension(self) -> int:
        with _loading():
            return self._embedder.dimension

    def close(self) -> None:
        """The model goes with this object."""

    def health_check(self) -> ProviderHealth:
        """Loads nothing: that takes seconds."""
        return ProviderHealth(is_healthy=True, checked_at=timezone.now(), details={"model": self.model})

    def try_out(self) -> ProviderHealth:
        return tried_out(self.model, lambda: {"dimension": int(self.embed_query(_SHORT_TEXT).shape[0])})

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with _loading():
            return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        with _loading():
            return self._embedder.embed_query(text)

    def count_tokens(self, text: str) -> int:
        with _loading():
            return self._embedder.count_tokens(text)


@contextmanager
def _loading() -> Iterator[None]:
    """The embedder's own words name a setting that is not used here."""
    try:
        yield
    except Unavailable as error:
        raise Unavailable(
            "The model could not be loaded. The server's log has the cause; check the connection's model.",
            code=error.code,
            retry_after_seconds=error.retry_after_seconds,
        ) from error
