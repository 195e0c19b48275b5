"""The model at work on what was read, in a thread of its own: meanwhile other files are read and written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import accumulate

import numpy as np

from core_app.errors import Conflict
from core_app.ports import Vectors
from ingest_app.indexing import Draft

#: How often whoever waits for the model asks whether the work has to end, at least.
POLL_SECONDS = 1.0


class _GivenUpError(Exception):
    """Nobody wants these vectors any more."""


class Embedding:
    """Some drafts on their way through the model. The thread touches no database."""

    def __init__(self, drafts: Sequence[Draft], *, thread: Executor) -> None:
        self.drafts = drafts
        self._batch_ended = threading.Event()
        self._given_up = threading.Event()
        self._future = thread.submit(embed_drafts, drafts=drafts, check=self._between_batches)
        self._future.add_done_callback(lambda _: self._batch_ended.set())

    def result(self, *, check: Callable[[], None]) -> list[Vectors]:
        """Vectors of each draft's chunks, as soon as the model has them.

        `check` is called after each batch and may raise. Raises what the model raised.
        """
        while not self._future.done():
            self._batch_ended.wait(POLL_SECONDS)
            self._batch_ended.clear()
            check()
        return self._future.result()

    def give_up(self) -> None:
        """End after the batch in hand."""
        self._given_up.set()

    def _between_batches(self) -> None:
        self._batch_ended.set()
        if self._given_up.is_set():
            raise _GivenUpError


def embed_drafts(*, drafts: Sequence[Draft], check: Callable[[], None]) -> list[Vectors]:
    """Vectors of each draft's chunks, each of shape (chunks, dimension).

    Chunks of all drafts share batches, similar lengths together: a model that is asked for one short
    text at a time takes several times as long. `check` is called before each batch and may raise.
    """
    if not drafts:
        return []
    source = drafts[0].source
    if any((draft.source.connection, draft.source.model) != (source.connection, source.model) for draft in drafts):
        raise Conflict(
            "The collection got another embedding connection meanwhile. Send the file again.", code="embedding_mismatch"
        )
    texts = [context for draft in drafts for context in draft.contexts]
    vectors: Vectors | None = None
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    size = source.batch_size
    for start in range(0, len(order), size):
        check()
        batch = order[start : start + size]
        made = source.embed_documents([texts[index] for index in batch])
        if vectors is None:
            vectors = np.empty((len(texts), made.shape[1]), dtype=np.float32)
        vectors[batch] = made
    if vectors is None:
        vectors = np.empty((0, source.dimension), dtype=np.float32)
    ends = list(accumulate(len(draft.contexts) for draft in drafts))
    return np.split(vectors, ends[:-1])
