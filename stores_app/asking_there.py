"""Asking another system for the nearest chunks, in a thread: who has no more time does not wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, partial

import numpy as np

from connections_app.models import Connection
from connections_app.opening import opened_store
from core_app.errors import FarSideSlow, StoreFailed
from core_app.ports import Vectors
from core_app.providers import Capability, NearChunk
from core_app.where import Where
from core_app.wiring import app_settings

_EXACT = frozenset({Capability.METADATA_FILTERING, Capability.EXACT_FILTERS})


def ask_there(
    *, connection: Connection, name: str, query: Vectors, limit: int, where: Where | None, seconds: float | None
) -> Sequence[NearChunk] | None:
    """The nearest of its collection `name`; None where it cannot apply the filter exactly.

    Raises FarSideSlow when `seconds` are over, and StoreFailed for whatever goes wrong there.
    """
    future = _callers().submit(copy_context().run, partial(_nearest, connection, name, query, limit, where))
    if not wait([future], timeout=seconds).done:
        future.cancel()
        raise FarSideSlow("The collection's store did not answer in the search's time.")
    try:
        return future.result()
    except Exception as error:
        raise StoreFailed(
            "The store of the collection could not be searched. Try again; the server's log has the cause."
        ) from error


def _nearest(
    connection: Connection, name: str, query: Vectors, limit: int, where: Where | None
) -> Sequence[NearChunk] | None:
    with opened_store(connection) as provider:
        if where is not None and not provider.capabilities >= _EXACT:
            return None
        queries = np.asarray(query, dtype=np.float32)[np.newaxis]
        (found,) = provider.nearest(name=name, queries=queries, limit=limit, where=where)
        return found


@cache
def _callers() -> ThreadPoolExecutor:
    """As many as connections to the database: each caller holds one."""
    return ThreadPoolExecutor(
        max_workers=max(4, app_settings().vector_database.pool_size), thread_name_prefix="far-side"
    )
