"""The child that parses: bounded memory, dies with its parent, answers one file at a time.

Started by `ingest_app.parsing.sandbox` with the memory bound in bytes and its parent's process id. It
reads pairs of frames (name, content) from stdin and writes one answer frame each.
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
from ingest_app.parsing.frames import encode_document, encode_error, read_frame, write_frame

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer until the parent closes the pipe."""
    _confine(memory_bytes=int(sys.argv[1]), parent=int(sys.argv[2]))
    requests, answers = _private_pipes()
    while True:
        name, content = read_frame(requests), read_frame(requests)
        if name is None or content is None:
            return
        write_frame(answers, _answer(name=name.decode(errors="replace"), content=content))


def _answer(*, name: str, content: bytes) -> bytes:
    try:
        return encode_document(parse(name=name, content=content))
    except UnableToParse as error:
        return encode_error(error)
    except MemoryError:
        failure = UnableToParse(
            "The file needs more memory than a parser may use: split it and upload the parts.", "too_large"
        )
        return encode_error(failure)
    except RecursionError:
        failure = UnableToParse(
            "The file is nested too deeply to be read: simplify it or upload its plain text.", "corrupt_file"
        )
        return encode_error(failure)


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
