"""The child that parses: bounded memory, dies with its parent, answers one file at a time.

Started by `ingest_app.parsing.sandbox` with the memory bound in bytes and its parent's process id. It
reads frames in threes (what is wanted, name, content) from stdin and writes an answer for each.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import BinaryIO

from ingest_app.parsing import parse
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.frames import (
    decode_request,
    encode_document,
    encode_error,
    read_frame,
    write_end,
    write_frame,
    write_member,
)
from ingest_app.parsing.unpacking import members

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer until the parent closes the pipe."""
    _confine(memory_bytes=int(sys.argv[1]), parent=int(sys.argv[2]))
    requests, answers = _private_pipes()
    while True:
        request, name, content = read_frame(requests), read_frame(requests), read_frame(requests)
        if request is None or name is None or content is None:
            return
        max_member_bytes = decode_request(request)
        try:
            if max_member_bytes is None:
                write_frame(answers, encode_document(parse(name=name.decode(errors="replace"), content=content)))
            else:
                for member in members(content=content, max_member_bytes=max_member_bytes):
                    write_member(answers, member)
                write_end(answers)
        except (UnableToParse, MemoryError, RecursionError) as error:
            write_frame(answers, encode_error(_explained(error)))


def _explained(error: UnableToParse | MemoryError | RecursionError) -> UnableToParse:
    if isinstance(error, UnableToParse):
        return error
    if isinstance(error, MemoryError):
        return UnableToParse(
            "The file needs more memory than a parser may use: split it and upload the parts.", "too_large"
        )
    return UnableToParse(
        "The file is nested too deeply to be read: simplify it or upload its plain text.", "corrupt_file"
    )


def _confine(*, memory_bytes: int, parent: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Ctrl-C reaches the whole terminal group, a server's stop the worker's; the parent decides when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            sys.exit(1)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the parent, out of reach of libraries that print."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


if __name__ == "__main__":
    main()
