"""`python -m stores_app.lexical.worker_main FD`: analyses texts for the process at the other end of a socket."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from stores_app.lexical.analysing import analyse
from stores_app.lexical.worker import Answer, Request


def main(descriptor: int) -> None:
    # Both reach the whole group of processes. Whoever started us may still finish a request; when it ends, so do we.
    for received in (signal.SIGINT, signal.SIGTERM):
        signal.signal(received, signal.SIG_IGN)
    # Looking for cycles takes a tenth of the time. So it is done between requests, when nobody waits.
    gc.disable()
    with Connection(descriptor) as pipe, suppress(EOFError, OSError):
        while True:
            request = msgspec.msgpack.decode(pipe.recv_bytes(), type=Request)
            found = analyse(language=request.language, texts=request.texts)
            answer = Answer(lengths=found.lengths.tobytes(), blocks=list(found.blocks))
            pipe.send_bytes(msgspec.msgpack.encode(answer))
            del request, found, answer
            gc.collect()


if __name__ == "__main__":
    main(int(sys.argv[1]))
