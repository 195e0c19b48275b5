"""Parsing at arm's length: a file may crash, hang or exhaust its parser, never the worker."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, TypeVar, cast

import psutil

from ingest_app.parsing.document import ParsedDocument
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.frames import encode_request, read_document, read_members, write_frame
from ingest_app.parsing.unpacking import Member

logger = logging.getLogger(__name__)

_PROJECT_ROOT = Path(__file__).resolve().parents[2]
# Native parsers keep some memory of every file; a fresh process now and then gives it back, and one that
# kept much of what it may use does so at once.
_FILES_PER_CHILD = 200
_MAX_SHARE_KEPT = 0.5
_CHECK_SECONDS = 0.2
# The child gets no secrets: of the environment only what a Python needs to start.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "VIRTUAL_ENV")


Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Question(Generic[Found]):
    """What the child is asked about one file, and how its answer is read."""

    name: str
    content: bytes
    read: Callable[[BinaryIO], Found]
    #: Where the files of an archive are wanted: how large one of them may be.
    max_member_bytes: int | None = None


class ParserProcess:
    """A persistent child process that parses, one file at a time.

    Create it in the process that uses it (after a fork). It starts its child with the first file
    and replaces it after a crash, a timeout or a file that took all memory. Threads wait for each
    other. The child dies with the thread that started it.
    """

    def __init__(self, *, timeout_seconds: float, memory_bytes: int) -> None:
        """`timeout_seconds` is for each file, `memory_bytes` for the child's whole address space."""
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def parse(self, *, name: str, content: bytes, check: Callable[[], None] = lambda: None) -> ParsedDocument:
        """The document in a file. Raises UnableToParse; the next file is parsed all the same.

        `check` is called several times a second and may raise: the file is then given up at once.
        """
        return self._ask(Question(name=name, content=content, read=read_document), check)

    def unpack(
        self, *, name: str, content: bytes, max_member_bytes: int, check: Callable[[], None] = lambda: None
    ) -> list[Member]:
        """The files in an archive; one that is larger comes without its content. Raises as `parse` does."""
        question = Question(name=name, content=content, max_member_bytes=max_member_bytes, read=read_members)
        return self._ask(question, check)

    def _ask(self, question: Question[Found], check: Callable[[], None]) -> Found:
        with self._lock:
            if self._child is None or not self._child.is_usable():
                self._stop()
                self._child = _Child(memory_bytes=self._memory_bytes)
            try:
                return self._child.ask(question, timeout_seconds=self._timeout_seconds, check=check)
            except UnableToParse as error:
                if error.code in ("parse_timeout", "parser_crashed", "too_large"):
                    self._stop()
                raise
            except BaseException:  # interrupted halfway: its next answer would belong to this file
                self._stop()
                raise

    def close(self) -> None:
        """End the child. A later `parse` starts another."""
        with self._lock:
            self._stop()

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


class _Child:
    """One child process and its pipes."""

    def __init__(self, *, memory_bytes: int) -> None:
        environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no input on the command line
            [sys.executable, "-m", "ingest_app.parsing.sandbox_child", str(memory_bytes), str(os.getpid())],
            cwd=_PROJECT_ROOT,
            env={**environment, "PYTHONPATH": str(_PROJECT_ROOT), "PYTHONUTF8": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._requests = cast("BufferedWriter", self._process.stdin)
        self._answers = cast("BufferedReader", self._process.stdout)
        self._complaints: deque[bytes] = deque(maxlen=4)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._files = 0
        self._most_kept = _MAX_SHARE_KEPT * memory_bytes

    def is_usable(self) -> bool:
        if self._process.poll() is not None or self._files >= _FILES_PER_CHILD:
            return False
        try:
            return bool(psutil.Process(self._process.pid).memory_info().rss <= self._most_kept)
        except psutil.Error:  # it ended just now
            return False

    def ask(self, question: Question[Found], *, timeout_seconds: float, check: Callable[[], None]) -> Found:
        """One exchange with the child, which is killed when the time is over."""
        self._files += 1
        timed_out = threading.Event()

        def expire() -> None:
            timed_out.set()
            self._process.kill()

        timer = threading.Timer(timeout_seconds, expire)
        timer.start()
        try:
            return self._exchange(question, check)
        except (EOFError, BrokenPipeError, ValueError) as error:
            if timed_out.is_set():
                raise UnableToParse(
                    f"Reading the file took longer than {timeout_seconds:g} seconds: split it, or upload its plain "
                    "text.",
                    "parse_timeout",
                ) from None
            raise self._crashed() from error
        finally:
            timer.cancel()
            timer.join()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        # Closing flushes; what a dead child never read is no longer wanted.
        for stream in (self._requests, self._answers):
            try:
                stream.close()
            except BrokenPipeError:
                logger.debug("the parser had unread input")

    def _exchange(self, question: Question[Found], check: Callable[[], None]) -> Found:
        write_frame(self._requests, encode_request(max_member_bytes=question.max_member_bytes))
        write_frame(self._requests, question.name.encode(errors="replace"))
        write_frame(self._requests, question.content)
        # Nothing of an answer is buffered before it was asked for, so the pipe itself tells when it comes.
        while not select.select([self._answers], [], [], _CHECK_SECONDS)[0]:
            check()
        return question.read(self._answers)

    def _crashed(self) -> UnableToParse:
        self.kill()
        logger.warning(
            "parser process ended with status %s: %s",
            self._process.returncode,
            b"".join(self._complaints)[-4000:].decode(errors="replace"),
        )
        return UnableToParse(
            "The file could not be read, its parser gave up: save it again in its program, "
            "or upload it as PDF or plain text.",
            "parser_crashed",
        )

    def _listen(self) -> None:
        """Keep the last complaints; a full stderr pipe would stop the child."""
        stderr = cast("BufferedReader", self._process.stderr)
        with stderr:
            while complaint := stderr.read1(4096):
                self._complaints.append(complaint)
