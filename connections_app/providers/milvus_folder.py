"""A folder of Milvus Lite, which one process at a time can have open: processes take turns.

Whoever has it open keeps it for half a second after the last call, and lets go after the running calls as soon as
another process waits. A lock on a file beside the data says that one waits.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc  # type: ignore[import-untyped]
from milvus_lite.adapter.grpc.servicer import MilvusServicer  # type: ignore[import-untyped]
from milvus_lite.db import MilvusLite  # type: ignore[import-untyped]
from milvus_lite.exceptions import DataDirLockedError, MilvusLiteError  # type: ignore[import-untyped]
from pymilvus.grpc_gen import milvus_pb2_grpc  # type: ignore[import-untyped]

from connections_app.providers.milvus_calls import Calls
from core_app.errors import FarSideFailed, Unavailable

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 0.5
_LOOK_SECONDS = 0.01
_WAITING = "ragsite.waiting"
#: What Milvus Lite makes at once in a folder of its own.
_MARK = "collections"
_WORKERS = 8
_OF_ANOTHER = "file_of_another_program"
_LARGEST_MESSAGE = 256 * 1024 * 1024


class Folder:
    """Opens the folder when it is its turn. May be used by several threads."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._changed = threading.Condition()
        self._open: _Lite | None = None
        self._users = 0
        self._is_leaving = False
        self._used_at = 0.0
        self._timer: threading.Timer | None = None

    @contextmanager
    def opened(self, within: float | None = None) -> Iterator[Calls]:
        """Waits for its turn so long, in seconds.

        Raises Unavailable where another process did not let go in time, FarSideFailed for what is no such folder.
        """
        one = self._entered(self._seconds if within is None else within)
        try:
            yield one.calls
        finally:
            self._left()

    def close(self) -> None:
        with self._changed:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._let_go()

    def _entered(self, seconds: float) -> _Lite:
        deadline = time.monotonic() + seconds
        with self._changed:
            if not self._changed.wait_for(lambda: not self._is_leaving, timeout=seconds):
                raise _in_use()
            if self._open is None:
                self._open = self._taken(deadline)
            self._users += 1
            return self._open

    def _left(self) -> None:
        with self._changed:
            self._users -= 1
            self._used_at = time.monotonic()
            self._is_leaving = self._is_leaving or self._is_wanted()
            if self._users:
                return
            if self._is_leaving:
                self._let_go()
            elif self._timer is None:
                self._wait_idle(_IDLE_SECONDS)

    def _wait_idle(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._after_idle)
        self._timer.daemon = True
        self._timer.start()

    def _after_idle(self) -> None:
        with self._changed:
            self._timer = None
            if self._users or self._open is None:
                return
            rest = self._used_at + _IDLE_SECONDS - time.monotonic()
            if rest > 0:
                self._wait_idle(rest)
            else:
                self._let_go()

    def _let_go(self) -> None:
        one, self._open, self._is_leaving = self._open, None, False
        try:
            if one is not None:
                one.close()
        finally:
            self._changed.notify_all()

    def _taken(self, deadline: float) -> _Lite:
        try:
            _prepare(self._path)
            if self._is_wanted():
                time.sleep(3 * _LOOK_SECONDS)  # one who waited before comes first
            with (self._path / _WAITING).open("ab") as waiting:
                fcntl.flock(waiting, fcntl.LOCK_SH)
                while True:
                    with suppress(DataDirLockedError):
                        return _Lite(self._path, self._seconds)
                    if time.monotonic() > deadline:
                        raise _in_use()
                    time.sleep(_LOOK_SECONDS)
        except (OSError, MilvusLiteError) as error:
            logger.warning("a folder of Milvus Lite cannot be opened", exc_info=True)
            raise FarSideFailed("The folder cannot be read or written; the server's log has the cause.") from error

    def _is_wanted(self) -> bool:
        with suppress(FileNotFoundError), (self._path / _WAITING).open("ab") as waiting:
            try:
                fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


class _Lite:
    """The open database, and its server on a socket that only this user can reach."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._database = MilvusLite(str(path))
        self._sockets = tempfile.mkdtemp(prefix="ragsite-milvus-")  # a path below the data could be too long
        self._workers = ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="milvus-lite")
        limits = [(f"grpc.max_{way}_message_length", _LARGEST_MESSAGE) for way in ("receive", "send")]
        self._server = grpc.server(self._workers, options=limits)
        self._client: Calls | None = None
        try:
            milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(self._database), self._server)
            address = f"unix:{self._sockets}/milvus"
            self._server.add_insecure_port(address)
            self._server.start()
            self._client = Calls(address, token="", database="", seconds=seconds)
        except BaseException:
            self.close()
            raise

    @property
    def calls(self) -> Calls:
        assert self._client is not None
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._server.stop(grace=2).wait()
        self._workers.shutdown()
        self._database.close()
        shutil.rmtree(self._sockets, ignore_errors=True)


def _prepare(path: Path) -> None:
    """Make the folder, for the server's user alone. Raises FarSideFailed for what holds something else."""
    if path.is_dir():
        others = {one.name for one in path.iterdir()} - {_WAITING}
        if others and _MARK not in others:
            raise FarSideFailed(
                "The folder belongs to another program. Name another one.", code="file_of_another_program"
            )
        return
    if path.exists():
        raise FarSideFailed(
            "This is a file: Milvus Lite keeps a folder from version 3 on. Name a folder.",
            code="file_of_another_program",
        )
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def _in_use() -> Unavailable:
    return Unavailable("The folder is in use by another process. Try again in a few seconds.", code="far_side_busy")
