"""Any cross-encoder that sentence-transformers loads, from a folder or the hub.

Requests share a pool of threads, and each has no more batches in it than there are threads: a long request takes its
turns among the short ones. Scoring locks nothing: the model only reads its weights, and its tokenizer is set up once.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
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
#: Characters of a token, roughly; and more than any has: a text is cut there before it is cut by tokens.
_TOKEN_CHARACTERS, _MOST_TOKEN_CHARACTERS = 5, 50
#: What a pair costs beside its characters, in such.
_PAIR_CHARACTERS = 100
#: How much one measurement counts against those of before, and how far it may be from them.
_FRESHNESS, _FARTHEST = 0.3, 3.0
#: Where it seems too slow for even one text, it seems a little faster the next time: nothing else would be learned.
_HOPE = 0.9
#: Of the time, so much is planned with.
_MARGIN = 0.9
#: What to do about one that does not load.
_HINTS = {
    "path": "Check that the folder holds a whole model.",
    "name": "Check the name and the network, or give a folder with --cross-encoder-path.",
}


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """What came of one: places of its texts, and what the model says of them."""

    places: Sequence[int]
    logits: Vectors
    values: Vectors
    tokens: int


class CrossEncoderScorer:
    """Loads its model when told to; importing torch takes seconds."""

    def __init__(self, section: Rerank) -> None:
        self._section = section
        self._workers = section.threads or os.cpu_count() or 1
        #: Seconds of one thread for a cost of a thousand, as they were lately.
        self._pace = 0.0
        self._counting = threading.Lock()
        #: What each request costs that is being scored or waits for it.
        self._under_way: dict[int, float] = {}

    def batch(self, count: int) -> int:
        """Texts of one batch, so that each thread has one if there are so many."""
        return max(1, min(self._section.batch_size, math.ceil(count / self._workers)))

    def cost(self, query: str, text: str) -> int:
        """Of a pair, in characters that the model reads."""
        return _PAIR_CHARACTERS + min(len(query) + len(text), _TOKEN_CHARACTERS * self._tokens)

    @property
    def _tokens(self) -> int:
        return int(self._model.max_seq_length or 512)

    @property
    def _longest(self) -> int:
        return _MOST_TOKEN_CHARACTERS * self._tokens

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

    def scores(
        self, *, query: str, texts: Sequence[str], seconds: float | None = None, partial: bool = False
    ) -> PairScores:
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        asked = _Asked(self, query, [text[: self._longest] for text in texts], deadline, partial=partial)
        with self._counting:
            # They take turns: none of them gets further than this one until it is done.
            others = sum(min(cost, asked.cost) for cost in self._under_way.values())
            self._under_way[id(asked)] = asked.cost
        try:
            if not partial and others and self._seconds(asked.cost + others) > deadline - time.monotonic():
                return asked.done(())
            return asked.done(self._score_all(asked))
        finally:
            with self._counting:
                del self._under_way[id(asked)]

    def _seconds(self, cost: float) -> float:
        """How long all threads take for it together."""
        return cost / 1000 * self._pace / self._workers

    def _score_all(self, asked: _Asked) -> list[_Batch]:
        """The batches that were done in time, in their order."""
        found: list[_Batch] = []
        running: deque[Future[_Batch]] = deque()
        try:
            while True:
                while len(running) < self._workers and (places := asked.next_places()):
                    running.append(self._pool.submit(self._score, asked, places))
                if not running:
                    return found
                left = asked.deadline - time.monotonic()
                if not wait([running[0]], None if math.isinf(left) else max(0.0, left)).done:
                    return found
                found.append(running.popleft().result())
        finally:
            for future in running:
                future.cancel()

    def fitting(self, asked: _Asked, first: int) -> int:
        """Of the texts from this one on, how many one thread seems to score in the time that is left."""
        seconds = _MARGIN * (asked.deadline - time.monotonic())
        size = self._section.batch_size
        for count in range(size, 0, -1):
            cost = asked.cost_of(range(first, min(first + count, len(asked.texts))))
            if cost / 1000 * self._pace <= seconds:
                return count
        if first == 0 and seconds > 0:
            self._pace *= _HOPE
        return 0

    def _score(self, asked: _Asked, places: Sequence[int]) -> _Batch:
        import torch  # noqa: PLC0415 - loaded long ago

        began = time.monotonic()
        features = self._model.preprocess([(asked.query, asked.texts[place]) for place in places])
        with torch.inference_mode():
            logits = self._model(features)["scores"].float().reshape(len(places))
            values = self._activation(logits)
        # Learned from late ones as well, which nobody waits for: else the slow ones would not count.
        self._learn(asked.cost_of(places), time.monotonic() - began)
        return _Batch(
            places=places,
            logits=logits.numpy(),
            values=values.numpy(),
            tokens=int(features["attention_mask"].sum()),
        )

    def _learn(self, cost: float, seconds: float) -> None:
        """Two threads at once may lose one measurement of two, which does no harm."""
        pace = 1000 * seconds / cost
        if self._pace:
            pace = min(max(pace, self._pace / _FARTHEST), self._pace * _FARTHEST)
            pace = (1 - _FRESHNESS) * self._pace + _FRESHNESS * pace
        self._pace = pace


class _Asked:
    """One request: which batches it is cut into, and what they cost in characters that the model reads."""

    def __init__(
        self, scorer: CrossEncoderScorer, query: str, texts: Sequence[str], deadline: float, *, partial: bool
    ) -> None:
        self.query = query
        self.texts = texts
        self.deadline = deadline
        self._scorer = scorer
        self._partial = partial
        self._next = 0
        self._costs = [scorer.cost(query, text) for text in texts]
        self.cost = float(sum(self._costs))
        #: Of about one length together, so that little is padded; where only the first may be done, those first.
        self._order = list(range(len(texts))) if partial else sorted(range(len(texts)), key=self._costs.__getitem__)

    def cost_of(self, places: Sequence[int]) -> float:
        """Of a batch: each text is padded to the longest."""
        return len(places) * max(self._costs[place] for place in places)

    def next_places(self) -> Sequence[int]:
        """Empty where all are on their way, or no more seem to fit into the time."""
        size = self._scorer.batch(len(self.texts))
        if self._partial and not math.isinf(self.deadline) and self._next < len(self.texts):
            size = min(size, self._scorer.fitting(self, self._next))
        places = self._order[self._next : self._next + size]
        self._next = self._next + size if places else len(self.texts)
        return places

    def done(self, batches: Sequence[_Batch]) -> PairScores:
        """The scores of the first so many; of all or none where a part is of no use."""
        count = sum(len(batch.places) for batch in batches)
        if not self._partial and count < len(self.texts):
            count, batches = 0, ()
        logits, values = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for batch in batches:
            logits[batch.places] = batch.logits
            values[batch.places] = batch.values
        return PairScores(logits=logits, values=values, tokens=sum(batch.tokens for batch in batches))


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
