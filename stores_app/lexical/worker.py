"""The words of many texts, analysed in a process of its own while the caller does something else.

The words of a thousand chunks take as long as their embeddings, which are decoded meanwhile, and longer than writing
their rows. Threads of one Python process would do one after the other.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy as np

from stores_app.lexical.analysing import AnalysedTexts, analyse
from stores_app.lexical.postings import LENGTH

logger = logging.getLogger(__name__)

#: Fewer characters are analysed in less time than they take to get there.
LEAST_CHARACTERS = 100_000
#: So many take seconds.
_MANY_CHARACTERS = 1_000_000
#: Who asks for fewer may hold a lock that others wait for: one that is slower than identifiers are is left alone then.
_BRIEF_SECONDS, _BRIEF_SECONDS_PER_CHARACTER = 2.0, 1 / 300_000
#: So long a worker may be at it: four times what identifiers take on two shared cores. One that stands still is given
#: up then.
_PATIENCE_SECONDS, _PATIENCE_SECONDS_PER_CHARACTER = 10.0, 1 / 80_000
#: How long a socket may make no progress in the middle of a message.
_STALLED_SECONDS = 10
#: A worker that fails so often in a row is not started again.
_MOST_FAILURES = 3

_PROJECT_ROOT = Path(__file__).resolve().parents[2]
#: Of our own environment; no secrets.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "VIRTUAL_ENV")
_FAILURES = (OSError, EOFError, msgspec.MsgspecError)


class Request(msgspec.Struct, array_like=True):
    """What goes to the worker."""

    language: str
    texts: list[str]


class Answer(msgspec.Struct, array_like=True):
    """What comes back."""

    lengths: bytes
    blocks: list[tuple[str, bytes]]


class Analysis:
    """Words that are being analysed, by the worker or when they are asked for."""

    def __init__(self, worker: AnalysisWorker, *, language: str, texts: Sequence[str], is_sent: bool) -> None:
        self._worker = worker
        self._texts = texts
        self._is_sent = is_sent
        self._found: AnalysedTexts | None = None
        self.language = language

    def __len__(self) -> int:
        """Of how many texts."""
        return len(self._texts)

    def result(self) -> AnalysedTexts:
        """Waits for the end, but not for long: the caller may hold a lock, and analyses for himself instead."""
        characters = _characters(self._texts)
        if self._is_sent and not self._worker.is_ready(_BRIEF_SECONDS + characters * _BRIEF_SECONDS_PER_CHARACTER):
            self.abandon()
        return self._fetched(characters)

    def settle(self) -> None:
        """Wait for the end where that takes seconds, so that nobody waits for it with a lock."""
        characters = _characters(self._texts)
        if characters >= _MANY_CHARACTERS:
            self._fetched(characters)

    def _fetched(self, characters: int) -> AnalysedTexts:
        if self._found is None and self._is_sent:
            self._found = self._worker.fetch(characters=characters)
            self._is_sent = False
        if self._found is None:
            self._found = analyse(language=self.language, texts=self._texts)
        return self._found

    def abandon(self) -> None:
        """Nobody will ask any more."""
        if self._is_sent:
            self._worker.leave(characters=_characters(self._texts))
            self._is_sent = False


class AnalysisWorker:
    """A process that analyses texts, started when there are many for the first time.

    It does one thing at a time. Whoever comes meanwhile analyses for himself, as does who finds it dead.
    """

    def __init__(self, *, least_characters: int = LEAST_CHARACTERS) -> None:
        self._least = least_characters
        #: Held from sending a request until its answer is fetched, or left.
        self._taken = threading.Lock()
        self._child: _Child | None = None
        self._failures = 0
        #: Until when an answer that nobody wants may still come.
        self._unwanted_until: float | None = None

    @contextmanager
    def analysing(self, *, language: str, texts: Sequence[str]) -> Iterator[Analysis]:
        """Begin with texts, given in the order of their chunks' ids."""
        is_sent = _characters(texts) >= self._least and self._send(Request(language=language, texts=list(texts)))
        analysis = Analysis(self, language=language, texts=texts, is_sent=is_sent)
        try:
            yield analysis
        finally:
            analysis.abandon()

    def is_ready(self, seconds: float) -> bool:
        """Whether the answer to what was sent, or its end, comes within this time."""
        assert self._child is not None, "something was sent"
        return self._child.has_answer(seconds)

    def fetch(self, *, characters: int) -> AnalysedTexts | None:
        """The answer to what was sent; None where none comes."""
        assert self._child is not None, "something was sent"
        try:
            found = self._child.receive(_patience(characters))
        except _FAILURES as error:
            self._stop(error)
            return None
        else:
            self._failures = 0
            return found
        finally:
            self._taken.release()

    def leave(self, *, characters: int) -> None:
        """Do not wait for the answer; whoever comes next finds it, and throws it away."""
        self._unwanted_until = time.monotonic() + _patience(characters)
        self._taken.release()

    def _send(self, request: Request) -> bool:
        """Whether the worker has it; then `fetch` or `leave` follows."""
        encoded = msgspec.msgpack.encode(request)
        if self._failures >= _MOST_FAILURES or not self._taken.acquire(blocking=False):
            return False
        is_sent = False
        try:
            if self._is_rid_of_unwanted():
                self._child = self._child or _Child()
                self._child.send(encoded)
                is_sent = True
        except _FAILURES as error:
            self._stop(error)
        finally:
            if not is_sent:
                self._taken.release()
        return is_sent

    def _is_rid_of_unwanted(self) -> bool:
        """Whether the worker is not, or not any more, at something that nobody waits for."""
        if self._unwanted_until is None or self._child is None:
            return True
        is_overdue = time.monotonic() > self._unwanted_until
        if not is_overdue and not self._child.has_answer():
            return False
        self._child.receive(0)
        self._unwanted_until = None
        return True

    def _stop(self, cause: Exception) -> None:
        self._failures += 1
        given_up = " for good" if self._failures >= _MOST_FAILURES else ""
        logger.warning("the process that analyses words failed%s; the server itself does it: %r", given_up, cause)
        self._unwanted_until = None
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """One process and the socket to it, which ends when either side does. Raises OSError where there can be none."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        stalled = struct.pack("ll", _STALLED_SECONDS, 0)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, stalled)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, stalled)
        environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
        self._pipe = Connection(ours.detach())
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own module and a number
                # Without -P a folder that a server is started in could bring modules of its own.
                [sys.executable, "-P", "-m", "stores_app.lexical.worker_main", str(theirs.fileno())],
                env={**environment, "PYTHONPATH": str(_PROJECT_ROOT), "PYTHONUTF8": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self.pid = process.pid
        #: Called once: by us, or when the interpreter ends.
        self.end = weakref.finalize(self, _end, process, self._pipe)

    def send(self, encoded: bytes) -> None:
        self._pipe.send_bytes(encoded)

    def has_answer(self, seconds: float = 0) -> bool:
        return self._pipe.poll(seconds)

    def receive(self, seconds: float) -> AnalysedTexts:
        """Raises TimeoutError, and EOFError or another OSError where the process died."""
        if not self._pipe.poll(seconds):
            raise TimeoutError("it gave no answer in time")
        answer = msgspec.msgpack.decode(self._pipe.recv_bytes(), type=Answer)
        return AnalysedTexts(lengths=np.frombuffer(answer.lengths, LENGTH), blocks=answer.blocks)


def _characters(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _patience(characters: int) -> float:
    return _PATIENCE_SECONDS + characters * _PATIENCE_SECONDS_PER_CHARACTER


def _end(process: subprocess.Popen[bytes], pipe: Connection) -> None:
    pipe.close()
    process.kill()
    process.wait()
