"""The port of providers: what a vector system elsewhere must be able to do, and say of itself.

A provider is a class. A connection is a configured, named use of one. Which classes there are is found by dotted path
(`connections_app.registry`), so a package outside the project can bring one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict

from core_app.ports import DistanceName, Vectors
from core_app.where import Where


class Capability(StrEnum):
    """What a provider can do (A2.2). What it does not declare is not offered, and is refused where it is asked for."""

    COLLECTIONS = "collections"
    SEARCH = "search"
    EMBEDDINGS = "embeddings"
    METADATA_FILTERING = "metadata_filtering"
    #: It finds by words by itself.
    SPARSE = "sparse"
    #: Every operator of the filter language means there what it means here.
    EXACT_FILTERS = "exact_filters"
    #: Metadata may hold objects, and lists that hold objects or lists.
    NESTED_METADATA = "nested_metadata"
    #: An id that is sent again replaces what it stood for.
    UPSERT = "upsert"
    #: A call is done as a whole or not at all.
    TRANSACTIONS = "transactions"
    #: It puts texts in order: the class is a `RerankingProvider`, too.
    RERANKING = "reranking"


#: What each means to whoever chooses between providers.
MEANINGS: Mapping[Capability, str] = {
    Capability.COLLECTIONS: gettext_noop("Collections can be made, described and deleted."),
    Capability.SEARCH: gettext_noop("It finds the chunks that are nearest to a vector."),
    Capability.EMBEDDINGS: gettext_noop("It makes vectors of texts by itself."),
    Capability.METADATA_FILTERING: gettext_noop("Lists, searches and deletions take a filter of the metadata."),
    Capability.SPARSE: gettext_noop("It finds chunks by their words by itself."),
    Capability.EXACT_FILTERS: gettext_noop("Every operator of a filter means there what it means here."),
    Capability.NESTED_METADATA: gettext_noop("Metadata may hold objects, and lists within lists."),
    Capability.UPSERT: gettext_noop("A chunk whose id is sent again is replaced."),
    Capability.TRANSACTIONS: gettext_noop("A call is done as a whole or not at all."),
    Capability.RERANKING: gettext_noop("It puts texts in order by how well they answer a query."),
}


class ConnectionSettings(BaseModel):
    """What a connection is configured with. The console's form, the API's checks and the docs are made of subclasses.

    A field of pydantic's SecretStr is a secret: encrypted where it is kept, masked where it is shown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    #: The fields that say where secrets are sent: with another one, secrets must be entered again.
    addresses: ClassVar[frozenset[str]] = frozenset({"url"})

    @classmethod
    def get_connection_schema(cls) -> Mapping[str, Any]:
        """JSON Schema with a title for each field; secrets are `writeOnly` (A2.1)."""
        schema: Mapping[str, Any] = json.loads(json.dumps(cls.model_json_schema(), allow_nan=False))
        return schema


@dataclass(frozen=True, kw_only=True)
class ProviderHealth:
    """What a provider says of itself, or why it says nothing."""

    is_healthy: bool
    checked_at: datetime
    #: A sentence without addresses, keys and traces; empty where it is healthy.
    error: str = ""
    #: As the service calls them: number of collections, bytes stored, its version.
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HeldCollection:
    """A collection as its provider describes it; None where that does not say."""

    name: str
    metadata: Mapping[str, Any]
    distance: DistanceName
    id: str | None = None
    count: int | None = None
    dimension: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class HeldChunk:
    """A chunk with the id that callers know it by."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    #: Shape (dimension,); None where it was not asked for, or there is none.
    embedding: Vectors | None = None


@dataclass(frozen=True, kw_only=True)
class NearChunk:
    """A chunk that a search found."""

    chunk: HeldChunk
    #: As the collection's distance defines it; smaller is nearer.
    distance: float
    #: The distance as a similarity, 0 to 1 (`core_app.similarity`).
    score: float


@dataclass(frozen=True, kw_only=True)
class HeldCollections:
    """Some of the collections, and how many there are in all."""

    collections: Sequence[HeldCollection]
    total: int


@dataclass(frozen=True, kw_only=True)
class HeldChunks:
    """Some of the chunks in the order in which they were added, and how many the filter lets through in all."""

    chunks: Sequence[HeldChunk]
    total: int


@dataclass(frozen=True, kw_only=True)
class ScannedChunks:
    """Some of the chunks, each with its embedding where it has one."""

    chunks: Sequence[HeldChunk]
    #: Leads to those that follow; None at the end.
    after: str | None


@dataclass(frozen=True, kw_only=True)
class RankedText:
    """One of the texts that were asked about."""

    #: Its place among them, from 0.
    index: int
    #: As the model gives it; larger is better.
    score: float


@dataclass(frozen=True, kw_only=True)
class HeldValues:
    """The values of one key of the metadata, sorted."""

    values: Sequence[Any]
    #: Whether there are more.
    truncated: bool = False


class Provider(Protocol):
    """One connected provider; may be used by several threads.

    Raises NotFound, Conflict and InvalidInput for what the caller can mend, and `FarSideFailed`, `FarSideSlow` or
    `Unavailable` for what the other side did.
    """

    #: For people.
    label: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    settings_model: ClassVar[type[ConnectionSettings]]

    def __init__(self, settings: Any) -> None:
        """With an instance of `settings_model`. Connects at the first call, not here."""

    def close(self) -> None:
        """Give back what is held open."""

    def health_check(self) -> ProviderHealth:
        """How the service is now, within a few seconds. Raises nothing for what the service does."""

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        """By name; all where `limit` is None."""

    def get_collection(self, *, name: str) -> HeldCollection:
        """Raises NotFound."""

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        """Raises Conflict where there is one of this name."""

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        """The metadata as it is then."""

    def delete_collection(self, *, name: str) -> None:
        """With all that is in it."""

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        """Store chunks with their embeddings; an id that exists is replaced.

        The first add fixes the dimension. Raises InvalidInput for another one; nothing was stored then.
        """

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        """Merge metadata, in which None takes a key away, and replace the text with its embedding. Raises NotFound."""

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        """Raises NotFound."""

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        """Those that the filter lets through."""

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        """All chunks in parts of at most `limit`, in any order: from the beginning with None, then from `after` on.

        What stays meanwhile is seen once. Raises InvalidInput for an `after` that it did not give.
        """

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        """What a key of the metadata has."""

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        """How many are gone. One of the two is given, and not empty."""

    def empty(self, *, name: str) -> int:
        """Delete all chunks; how many there were. The collection stays."""

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        """For each query, rows of shape (queries, dimension), nearest first.

        Fewer than `limit` only when fewer pass the filter. Raises InvalidInput for another dimension.
        """


class RerankingProvider(Provider, Protocol):
    """One that can also put texts in order (`Capability.RERANKING`)."""

    def rerank(self, *, query: str, texts: Sequence[str], top_k: int | None) -> Sequence[RankedText]:
        """The best first: all of them, or the `top_k` best. Raises Unavailable where no model is loaded there."""
