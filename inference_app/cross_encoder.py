"""Any cross-encoder that sentence-transformers loads, from a folder or the hub.

Requests share a pool of threads by turns. A turn is one batch on one thread, and of no more texts than a tenth of a
second is enough for, or of one: what has begun cannot be stopped when somebody else comes. No request has more batches
in the pool than there are threads, so whoever comes waits for about one turn of each of the others. How long something
will take is in `pace.py`; with it

- a part of a list is cut where the time ends, with those counted that are in the pool already,
- a whole list is refused at once where it would be done in time alone, and is not with what the others have left to do,
- one that seems too long even alone is begun, since a guess that is never tried is never mended, and what is taken on
  is not given up before its time is over.

Scoring locks nothing: the model only reads its weights, and its tokenizer is set up once.
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
from inference_app.pace import Pace, tokens_of, tokens_of_pair

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

logger = logging.getLogger(__name__)

#: What is read to learn how fast the model is, before anybody waits: of a usual passage's length.
_PACE_TEXT = "Every part of the machine is cleaned once a week with warm water, soap and a soft cloth. " * 12
#: More characters than a token has: a text is cut there before it is cut by tokens.
_MOST_TOKEN_CHARACTERS = 50
#: Seconds that one batch should take at most.
_TURN = 0.1
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
        self._pace = Pace()
        self._admitting, self._counting = threading.Lock(), threading.Lock()
        #: The requests that are being scored or wait for it.
        self._under_way: dict[int, _Asked] = {}
        #: The batches in the pool, and how many seconds of a thread each of them takes.
        self._in_pool: dict[Future[_Batch], float] = {}

    def batch(self, count: int) -> int:
        """The most texts of one batch, so that each thread has one if there are so many."""
        return max(1, min(self._section.batch_size, math.ceil(count / self._workers)))

    def costs(self, query: str, texts: Sequence[str]) -> list[float]:
        """Of each pair, about so many tokens."""
        of_query = tokens_of(query, self._tokens)
        return [tokens_of_pair(of_query, text, self._tokens) for text in texts]

    def seconds(self, tokens: float) -> float:
        """How long one thread seems to take for a batch."""
        return self._pace.seconds(tokens)

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
        for texts in ([_PACE_TEXT] * self._section.batch_size, ["warm up"]):
            self.scores(query="warm up", texts=texts)
        self._pace = Pace()  # they had to find their memory
        for texts in (["warm up"], [_PACE_TEXT] * self._section.batch_size):
            self.scores(query="warm up", texts=texts)
        logger.info("cross-encoder %s loaded", self.model)

    def scores(
        self, *, query: str, texts: Sequence[str], seconds: float | None = None, partial: bool = False
    ) -> PairScores:
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        asked = _Asked(self, query, [text[: self._longest] for text in texts], deadline, partial=partial)
        if not self._takes(asked):
            return asked.done(())
        try:
            return asked.done(self._score_all(asked))
        finally:
            with self._counting:
                del self._under_way[id(asked)]

    def _takes(self, asked: _Asked) -> bool:
        """Whether it is taken on. One at a time is decided on, so that what is refused counts for nobody."""
        with self._admitting:
            with self._counting:
                others = list(self._under_way.values())
            if not asked.partial and self._fits(asked) and not self._fits(asked, among=others):
                return False
            with self._counting:
                self._under_way[id(asked)] = asked
            return True

    def _fits(self, asked: _Asked, *, among: Sequence[_Asked] = ()) -> bool:
        """Whether what is left of it seems to be done in the time that is left."""
        if math.isinf(asked.deadline):
            return True
        now = time.monotonic()
        own, turn = asked.left()
        needed = max(own / self._workers, turn)
        for other in among:
            theirs, turn = other.left()
            # They take turns: it gets as far as this one, and by what it has in the pool already.
            theirs = min(theirs, own + self._workers * turn)
            needed += min(theirs / self._workers, max(0.0, other.deadline - now))
        return needed <= asked.deadline - now

    def _score_all(self, asked: _Asked) -> list[_Batch]:
        """The batches that were done in time, in their order."""
        found: list[_Batch] = []
        running: deque[Future[_Batch]] = deque()
        try:
            while True:
                while len(running) < self._workers and (places := asked.next_places()):
                    running.append(self._submit(asked, places))
                if not running:
                    return found
                left = asked.deadline - time.monotonic()
                if not wait([running[0]], None if math.isinf(left) else max(0.0, left)).done:
                    return found
                found.append(running.popleft().result())
                asked.finished += len(found[-1].places)
        finally:
            for future in running:
                future.cancel()

    def _submit(self, asked: _Asked, places: Sequence[int]) -> Future[_Batch]:
        future = self._pool.submit(self._score, asked, places)
        with self._counting:
            self._in_pool[future] = self.seconds(asked.cost_of(places))
        future.add_done_callback(self._leave_pool)
        return future

    def _leave_pool(self, future: Future[_Batch]) -> None:
        with self._counting:
            del self._in_pool[future]

    def _wait(self) -> float:
        """Until a batch would begin: all those in the pool go first, but as many as leave it a thread."""
        with self._counting:
            ahead = [seconds for future, seconds in self._in_pool.items() if not future.done()]
        to_end = max(0, len(ahead) - self._workers + 1)
        return sum(ahead) / self._workers * to_end / len(ahead) if to_end else 0.0

    def fitting(self, asked: _Asked, first: int) -> int:
        """Of the texts from this one on, how many one thread seems to score in the time that is left."""
        seconds = _MARGIN * (asked.deadline - time.monotonic())
        count = asked.turn(first, seconds - self._wait())
        if not count and first == 0 and seconds > 0 and not asked.turn(first, seconds):
            self._pace.hope()
        return count

    def _score(self, asked: _Asked, places: Sequence[int]) -> _Batch:
        import torch  # noqa: PLC0415 - loaded long ago

        began = time.monotonic()
        features = self._model.preprocess([(asked.query, asked.texts[place]) for place in places])
        with torch.inference_mode():
            logits = self._model(features)["scores"].float().reshape(len(places))
            values = self._activation(logits)
        # By the tokens that it had, not by those it was thought to have: so no language changes what others are thought
        # to take. Learned from late ones as well, which nobody waits for: else the slow ones would not count.
        self._pace.learn(features["attention_mask"].numel(), time.monotonic() - began)
        return _Batch(
            places=places,
            logits=logits.numpy(),
            values=values.numpy(),
            tokens=int(features["attention_mask"].sum()),
        )


class _Asked:
    """One request: which batches it is cut into, and about how many tokens these have."""

    def __init__(
        self, scorer: CrossEncoderScorer, query: str, texts: Sequence[str], deadline: float, *, partial: bool
    ) -> None:
        self.query = query
        self.texts = texts
        self.deadline = deadline
        self.partial = partial
        #: How many of the texts are done, in the order they are taken in.
        self.finished = 0
        self._scorer = scorer
        self._next = 0
        self._costs = scorer.costs(query, texts)
        #: Of about one length together, so that little is padded; where only the first may be done, those first.
        self._order = list(range(len(texts))) if partial else sorted(range(len(texts)), key=self._costs.__getitem__)

    def cost_of(self, places: Sequence[int]) -> float:
        """Of a batch: each text is padded to the longest."""
        return len(places) * max(self._costs[place] for place in places)

    def turn(self, first: int, seconds: float) -> int:
        """How many texts from this one on are the largest batch that one thread seems to score in so many seconds."""
        most = min(self._scorer.batch(len(self.texts)), len(self.texts) - first)
        longest = 0.0
        for count, place in enumerate(self._order[first : first + most], 1):
            longest = max(longest, self._costs[place])
            if self._scorer.seconds(count * longest) > seconds:
                return count - 1
        return most

    def left(self) -> tuple[float, float]:
        """Seconds of one thread that what is not done seems to take, and the longest of its turns."""
        total = longest = 0.0
        first = self.finished
        while first < len(self.texts):
            count = max(1, self.turn(first, _TURN))
            seconds = self._scorer.seconds(self.cost_of(self._order[first : first + count]))
            total, longest = total + seconds, max(longest, seconds)
            first += count
        return total, longest

    def next_places(self) -> Sequence[int]:
        """Empty where all are on their way, or no more seem to fit into the time."""
        if self._next == len(self.texts):
            return ()
        size = max(1, self.turn(self._next, _TURN))
        if self.partial and not math.isinf(self.deadline):
            size = min(size, self._scorer.fitting(self, self._next))
        places = self._order[self._next : self._next + size]
        self._next = self._next + size if places else len(self.texts)
        return places

    def done(self, batches: Sequence[_Batch]) -> PairScores:
        """The scores of the first so many; of all or none where a part is of no use."""
        count = sum(len(batch.places) for batch in batches)
        if not self.partial and count < len(self.texts):
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
