"""Any cross-encoder that sentence-transformers loads, from a folder or the hub.

Requests share a pool of threads, and each has no more batches in it than there are threads: a long request takes its
turns among the short ones. Nothing is locked: the model only reads its weights, and its tokenizer is set up once.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core_app.config import Rerank
from core_app.errors import Unavailable
from core_app.ports import PairScores, Vectors

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

logger = logging.getLogger(__name__)

#: What is read to learn how fast the model is, before anybody waits: of a usual passage's length.
_PACE_TEXT = "Every part of the machine is cleaned once a week with warm water, soap and a soft cloth. " * 12
#: Characters of a token, roughly: what is longer than the model reads takes no longer.
_TOKEN_CHARACTERS = 5
#: What to do about one that does not load.
_HINTS = {
    "path": "Check that the folder holds a whole model.",
    "name": "Check the name and the network, or give a folder with --cross-encoder-path.",
}
#: How much one measurement counts against those of before.
_FRESHNESS = 0.3


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """What came of one: places of its texts, and what the model says of them."""

    places: Sequence[int]
    logits: Vectors
    values: Vectors
    tokens: int
    seconds: float


class CrossEncoderScorer:
    """Loads its model when told to; importing torch takes seconds."""

    def __init__(self, section: Rerank) -> None:
        self._section = section
        self._workers = section.threads or os.cpu_count() or 1
        #: Seconds of one thread for a thousand characters, as they were lately.
        self._pace = 0.0

    @property
    def model(self) -> str:
        return self._section.cross_encoder_path or self._section.cross_encoder

    def load(self) -> None:
        # Imported here: it takes seconds, and most commands score nothing.
        import torch  # noqa: PLC0415
        from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

        disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types here
        # The hub's client writes to the console by itself, beside the log that has the same lines.
        logging.getLogger("huggingface_hub").handlers.clear()
        where = "path" if self._section.cross_encoder_path else "name"
        try:
            self._model = _load(self.model, is_local=where == "path")
        except _NotACrossEncoderError as error:
            raise Unavailable(f"The cross-encoder cannot be used: {error}", code="cross_encoder_not_loaded") from error
        except Exception as error:
            raise Unavailable(
                f"The cross-encoder could not be loaded from the given {where} ({type(error).__name__}). "
                f"The log has the cause. {_HINTS[where]}",
                code="cross_encoder_not_loaded",
            ) from error
        assert self._model.activation_fn is not None
        self._activation = self._model.activation_fn
        self._pool = ThreadPoolExecutor(
            max_workers=self._workers, thread_name_prefix="rerank", initializer=torch.set_num_threads, initargs=(1,)
        )
        for _ in range(2):  # the first has to find its memory
            self.scores(query="warm up", texts=[_PACE_TEXT] * self._section.batch_size)
        logger.info("cross-encoder %s loaded", self.model)

    def scores(self, *, query: str, texts: Sequence[str], seconds: float | None = None) -> PairScores:
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        logits = np.zeros(len(texts), np.float32)
        values = np.zeros(len(texts), np.float32)
        tokens = done = 0
        while done < len(texts):
            window = self._window(texts[done:], deadline - time.monotonic())
            found = self._score_window(query, window, deadline)
            if found is None:
                break
            for batch in found:
                logits[[done + place for place in batch.places]] = batch.logits
                values[[done + place for place in batch.places]] = batch.values
                tokens += batch.tokens
            done += len(window)
        return PairScores(logits=logits[:done], values=values[:done], tokens=tokens)

    def _window(self, texts: Sequence[str], seconds: float) -> Sequence[str]:
        """So many of the first as there seems to be time for; without an end all, else a batch for each thread."""
        if math.isinf(seconds):
            return texts
        fitting = 0
        characters = 0
        for text in texts[: self._section.batch_size * self._workers]:
            characters += self._cost(text)
            if characters / 1000 * self._pace / self._workers > seconds:
                break
            fitting += 1
        return texts[:fitting]

    def _cost(self, text: str) -> int:
        return min(len(text), _TOKEN_CHARACTERS * int(self._model.max_seq_length or 512)) + 1

    def _score_window(self, query: str, texts: Sequence[str], deadline: float) -> list[_Batch] | None:
        """None where the time was over first, or is not enough for any."""
        if not texts:
            return None
        found: list[_Batch] = []
        waiting: deque[Future[_Batch]] = deque()
        batches = self._batches(texts)
        try:
            while True:
                for places in batches:
                    waiting.append(self._pool.submit(partial(self._score, query, texts, places)))
                    if len(waiting) >= self._workers:
                        break
                if not waiting:
                    return found
                left = deadline - time.monotonic()
                found.append(waiting.popleft().result(None if math.isinf(left) else max(0.0, left)))
                self._learn(found[-1], texts)
        except TimeoutError:
            if time.monotonic() < deadline:
                raise  # the model's own
            return None
        finally:
            for future in waiting:
                future.cancel()

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[int]]:
        """Places of texts of about one length, so that little is padded; a batch for each thread, if there can be."""
        places = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        size = max(1, min(self._section.batch_size, math.ceil(len(texts) / self._workers)))
        return (places[first : first + size] for first in range(0, len(places), size))

    def _score(self, query: str, texts: Sequence[str], places: Sequence[int]) -> _Batch:
        import torch  # noqa: PLC0415 - loaded long ago

        began = time.monotonic()
        features = self._model.preprocess([(query, texts[place]) for place in places])
        with torch.inference_mode():
            logits = self._model(features)["scores"].float().reshape(len(places))
            values = self._activation(logits)
        return _Batch(
            places=places,
            logits=logits.numpy(),
            values=values.numpy(),
            tokens=int(features["attention_mask"].sum()),
            seconds=time.monotonic() - began,
        )

    def _learn(self, batch: _Batch, texts: Sequence[str]) -> None:
        pace = 1000 * batch.seconds / sum(self._cost(texts[place]) for place in batch.places)
        self._pace = pace if not self._pace else (1 - _FRESHNESS) * self._pace + _FRESHNESS * pace


class _NotACrossEncoderError(Exception):
    """It loads, and says nothing of pairs."""


def _load(model: str, *, is_local: bool) -> CrossEncoder:
    from sentence_transformers import CrossEncoder  # noqa: PLC0415 - heavy
    from transformers import AutoConfig  # noqa: PLC0415

    if is_local and not Path(model).is_dir():
        raise _NotACrossEncoderError("there is no such folder. Check the path.")
    config: Any = AutoConfig.from_pretrained(model, local_files_only=is_local)
    kinds = config.architectures or [""]
    if not kinds[0].endswith(("ForSequenceClassification", "ForCausalLM")):
        # It would be given a head of random numbers.
        raise _NotACrossEncoderError("the model has no head that scores pairs. Name one from --list-reranker-models.")
    loaded: CrossEncoder = CrossEncoder(model, device="cpu", local_files_only=is_local)
    loaded.eval()
    if loaded.num_labels != 1:
        raise _NotACrossEncoderError(f"it gives {loaded.num_labels} scores a pair, not one.")
    return loaded
