"""`python -m stores_app.lexical.beside_child FD`: reads words for the process at the other end of a socket."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from stores_app.lexical.analysed import analysed
from stores_app.lexical.beside import Answer, Request


def main(descriptor: int) -> None:
    # Ctrl-C in a terminal reaches us too; whoever started us decides when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing here refers to itself, and looking for what does takes a tenth of the time.
    gc.disable()
    with Connection(descriptor) as pipe, suppress(EOFError, OSError):
        while True:
            request = msgspec.msgpack.decode(pipe.recv_bytes(), type=Request)
            found = analysed(language=request.language, texts=request.texts)
            answer = Answer(lengths=found.lengths.tobytes(), blocks=list(found.blocks))
            pipe.send_bytes(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main(int(sys.argv[1]))
