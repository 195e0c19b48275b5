"""The words of many texts, read in a process of their own while the caller does something else.

The words of a thousand chunks take as long as their embeddings, which are read meanwhile, and longer than writing
their rows. Threads of one Python process would do one after the other.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy as np

from stores_app.lexical.analysed import Analysed, analysed
from stores_app.lexical.postings import LENGTH

logger = logging.getLogger(__name__)

#: Fewer characters are read in less time than they take to get there.
LEAST_CHARACTERS = 100_000
#: Nothing that one request may bring takes as long.
_PATIENCE_SECONDS = 120.0
#: How long somebody who needs no answer any more waits for it; then the process is ended.
_UNWANTED_SECONDS = 0.5

_PROJECT_ROOT = Path(__file__).resolve().parents[2]


class Request(msgspec.Struct, array_like=True):
    """What goes to the process."""

    language: str
    texts: list[str]


class Answer(msgspec.Struct, array_like=True):
    """What comes back."""

    lengths: bytes
    blocks: list[tuple[str, bytes]]


class WordsProcess:
    """A process that reads words, started when there is much to read first.

    It does one thing at a time. Whoever comes meanwhile reads for himself, as does who finds it dead.
    """

    def __init__(self, *, least_characters: int = LEAST_CHARACTERS) -> None:
        self._least = least_characters
        self._taken = threading.Lock()
        self._child: _Child | None = None

    @contextmanager
    def reading(self, *, language: str, texts: Sequence[str]) -> Iterator[Callable[[], Analysed]]:
        """Begin to read; the function that is given waits for the end, and is called once or never."""
        alone = partial(analysed, language=language, texts=texts)
        if sum(map(len, texts)) < self._least or not self._taken.acquire(blocking=False):
            yield alone
            return
        try:
            child = self._begin(Request(language=language, texts=list(texts)))
            try:
                yield alone if child is None else partial(self._finish, child, alone)
            finally:
                self._forget_answer()
        finally:
            self._taken.release()

    def close(self) -> None:
        """End the process. The next to come starts another."""
        with self._taken:
            self._stop()

    def _begin(self, request: Request) -> _Child | None:
        """The process at work, or None where it cannot be had."""
        try:
            if self._child is None:
                self._child = _Child()
            self._child.send(request)
        except OSError:
            logger.warning("no process can be had to read words in; they are read by the server itself", exc_info=True)
            self._stop()
        return self._child

    def _finish(self, child: _Child, alone: Callable[[], Analysed]) -> Analysed:
        try:
            return child.receive(_PATIENCE_SECONDS)
        except (OSError, EOFError, msgspec.MsgspecError):
            logger.warning("the process that reads words ended; they are read again", exc_info=True)
            self._stop()
            return alone()

    def _forget_answer(self) -> None:
        """Where the caller failed meanwhile, the next must not get his answer."""
        if self._child is not None and self._child.is_busy:
            try:
                self._child.receive(_UNWANTED_SECONDS)
            except (OSError, EOFError, msgspec.MsgspecError):
                self._stop()

    def _stop(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """One process and the pipe to it, which ends when either side does."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own module and a number
                [sys.executable, "-m", "stores_app.lexical.beside_child", str(theirs.fileno())],
                cwd=_PROJECT_ROOT,
                env={**os.environ, "PYTHONPATH": str(_PROJECT_ROOT)},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self._pipe = ours
        #: Called once: by us, or when the interpreter ends.
        self.end = weakref.finalize(self, _end, process, ours)
        self.is_busy = False

    def send(self, request: Request) -> None:
        self.is_busy = True
        self._pipe.send_bytes(msgspec.msgpack.encode(request))

    def receive(self, seconds: float) -> Analysed:
        """Raises TimeoutError, and EOFError or another OSError where the process died."""
        if not self._pipe.poll(seconds):
            raise TimeoutError("There is no answer yet.")
        answer = msgspec.msgpack.decode(self._pipe.recv_bytes(), type=Answer)
        self.is_busy = False
        return Analysed(lengths=np.frombuffer(answer.lengths, LENGTH), blocks=answer.blocks)


def _end(process: subprocess.Popen[bytes], pipe: Connection) -> None:
    pipe.close()
    process.kill()
    process.wait()
