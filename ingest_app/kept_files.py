"""A large file that a job reads, kept in the database in pieces: any worker finds it, and none holds all of it."""

from __future__ import annotations

import io
import uuid
from typing import IO, Any

from ingest_app.models import Job, UploadPart

PIECE_BYTES = 1024 * 1024


def keep(*, job: Job, stream: IO[bytes]) -> None:
    """Keep a file with a job, in the caller's transaction."""
    stream.seek(0)
    ordinal = 0
    while piece := _piece(stream):
        UploadPart.objects.create(job=job, ordinal=ordinal, content=piece)
        ordinal += 1


def kept(*, job_id: uuid.UUID) -> IO[bytes]:
    """The file that is kept with a job, from its beginning."""
    return io.BufferedReader(_Parts(job_id), buffer_size=PIECE_BYTES)


def _piece(stream: IO[bytes]) -> bytes:
    """Full to the last one, also where the stream gives less at a time."""
    found = bytearray()
    while len(found) < PIECE_BYTES and (data := stream.read(PIECE_BYTES - len(found))):
        found += data
    return bytes(found)


class _Parts(io.RawIOBase):
    """Reads the pieces one after the other."""

    def __init__(self, job_id: uuid.UUID) -> None:
        self._job_id = job_id
        self._position = 0
        self._ordinal = -1
        self._part = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("the end of a kept file is found by reading")
        self._position = offset + (self._position if whence == io.SEEK_CUR else 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        ordinal, start = divmod(self._position, PIECE_BYTES)
        if ordinal != self._ordinal:
            found = UploadPart.objects.filter(job_id=self._job_id, ordinal=ordinal).values_list("content", flat=True)
            self._part, self._ordinal = bytes(found.first() or b""), ordinal
        view = memoryview(buffer).cast("B")
        data = self._part[start : start + len(view)]
        view[: len(data)] = data
        self._position += len(data)
        return len(data)
