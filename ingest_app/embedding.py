"""The model at work on what was read, in a thread of its own: meanwhile other files are read and written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import accumulate

import numpy as np

from core_app.ports import Vectors
from core_app.wiring import app_settings, embedder
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
    source = embedder()
    texts = [context for draft in drafts for context in draft.contexts]
    vectors = np.empty((len(texts), source.dimension), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    size = app_settings().embedding.batch_size
    for start in range(0, len(order), size):
        check()
        batch = order[start : start + size]
        vectors[batch] = source.embed_documents([texts[index] for index in batch])
    ends = list(accumulate(len(draft.contexts) for draft in drafts))
    return np.split(vectors, ends[:-1]) if drafts else []
