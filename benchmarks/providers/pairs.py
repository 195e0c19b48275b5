"""Each provider, and the client that it is made of: asked for the same ten, with their texts and metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from django.db import connection, transaction

from benchmarks.latency.vectors import Vectors
from collections_app.selectors import get_collection
from collections_app.services import space_of
from connections_app.providers.remote import RemoteProvider, RemoteSettings
from connections_app.registry import built_in_store
from core_app.providers import Provider
from core_app.wiring import store

LIMIT = 10
Bare = Callable[[Vectors], object]


def _nothing() -> None:
    """Nothing has to be settled."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A provider, and a maker of the bare search of one of its collections."""

    name: str
    provider: Provider
    bare: Callable[[str], Bare]
    #: What jobs would do after a load.
    settle: Callable[[], None] = field(default=_nothing)


def pairs(*, far: str, chroma: str, milvus: str) -> Iterator[Pair]:
    """Those whose client is installed."""
    yield Pair(name="pgvector", provider=built_in_store(), bare=_pgvector, settle=_indexed)
    yield Pair(name="remote", provider=RemoteProvider(RemoteSettings(url=far)), bare=lambda name: _remote(far, name))
    with suppress(ModuleNotFoundError):
        from connections_app.providers.sqlite import SqliteProvider, SqliteSettings

        provider = SqliteProvider(SqliteSettings(file="bench.db"))
        yield Pair(name="sqlite", provider=provider, bare=lambda name: _sqlite(provider, name))
    with suppress(ModuleNotFoundError):
        from connections_app.providers.chroma import ChromaProvider
        from connections_app.providers.chroma_settings import ChromaSettings

        in_folder = ChromaProvider(ChromaSettings(folder="bench"))
        yield Pair(name="chroma, a folder", provider=in_folder, bare=lambda name: _chroma(in_folder, name))
        if chroma:
            at_server = ChromaProvider(ChromaSettings(url=chroma))
            yield Pair(name="chroma, a server", provider=at_server, bare=lambda name: _chroma_server(chroma, name))
    with suppress(ModuleNotFoundError):
        from connections_app.providers.milvus import MilvusProvider, MilvusSettings

        if milvus:
            lite = MilvusProvider(MilvusSettings(url=milvus))
            yield Pair(name="milvus lite's server", provider=lite, bare=lambda name: _milvus(milvus, name))


def _indexed() -> None:
    collection = get_collection(name="bench")
    assert collection.active_generation is not None
    space = space_of(collection.active_generation)
    held = store(collection.store)
    if held.index_state(space=space).wanted:
        held.build_index(space=space, check=_nothing)


def _pgvector(name: str) -> Bare:
    """The store's own statement, with the index's settings for this transaction, and then one for the rows."""
    collection = get_collection(name=name)
    assert collection.active_generation is not None
    space = space_of(collection.active_generation)
    held = store(collection.store)

    def ask(query: Vectors) -> object:
        # The settings hold for a transaction: without one the index would look at less, and find less.
        with transaction.atomic(), connection.cursor() as cursor:
            hits = held.dense(space=space, query=query, limit=LIMIT).hits
            cursor.execute(
                "SELECT id, external_id, text, metadata FROM collections_chunk WHERE id = ANY(%s)",
                [[hit.chunk_id for hit in hits]],
            )
            return [(row, json.loads(row[3])) for row in cursor.fetchall()]

    return ask


def _remote(address: str, name: str) -> Bare:
    client = httpx.Client(base_url=address)

    def ask(query: Vectors) -> object:
        body = {"query_embedding": query.tolist(), "top_k": LIMIT}
        return client.post(f"/collections/{name}/query", json=body).raise_for_status().json()

    return ask


def _sqlite(provider: Any, name: str) -> Bare:
    """The statement on the connection that the provider's thread has."""
    from connections_app.providers.sqlite_file import ROOM
    from core_app.sql import statement

    database = provider._connection()
    key = next(iter(database.execute("SELECT key FROM collections WHERE name = ?", (name,))))[0]
    query_text = statement(ROOM, "sqlite_nearest")

    def ask(query: Vectors) -> object:
        given = {"query": query.astype(np.float32).tobytes(), "collection": key, "distance": "cosine"}
        rows = list(database.execute(query_text, {**given, "filter": None, "limit": LIMIT}))
        return [(row, json.loads(row[2])) for row in rows]

    return ask


def _chroma(provider: Any, name: str) -> Bare:
    """The client that the provider has open: a folder bears no second one beside it."""
    client = provider._engine._shared._client
    collection = client.get_collection(name, embedding_function=None)
    return lambda query: collection.query(query_embeddings=query[np.newaxis], n_results=LIMIT)


def _chroma_server(address: str, name: str) -> Bare:
    import chromadb

    host, _, port = address.removeprefix("http://").partition(":")
    collection = chromadb.HttpClient(host=host, port=int(port)).get_collection(name, embedding_function=None)
    return lambda query: collection.query(query_embeddings=query[np.newaxis], n_results=LIMIT)


def _milvus(address: str, name: str) -> Bare:
    from pymilvus import MilvusClient  # type: ignore[import-untyped]

    client = MilvusClient(uri=address)
    fields = ["id", "text", "metadata"]
    return lambda query: client.search(name, data=[query.tolist()], limit=LIMIT, output_fields=fields)
