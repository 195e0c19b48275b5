"""`python -m benchmarks.kills`: the kill matrix in docs/benchmarks.md.

Starts a server in a temporary folder, indexes the same files again and again, and each time kills one process in one
stage with kill -9. Ends with exit status 1 when a file was lost, a chunk doubled, or a job ended late.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.kills import cells
from benchmarks.kills.cells import Cell
from benchmarks.kills.corpus import files
from benchmarks.kills.server import Server

#: How often a cell is tried whose stage was not seen at the moment of the kill.
TIMES = 3


def chosen(selections: Sequence[str]) -> list[Cell]:
    """The cells that were asked for by name, as `worker`, `worker/parsing` or `parsing`; all where none was.

    Raises ValueError for what is no cell.
    """
    for text in selections:
        if not any(_is_meant(cell, text) for cell in cells.EVERY):
            raise ValueError(f"{text}: choose of {', '.join(map(str, cells.EVERY))}")
    return [cell for cell in cells.EVERY if not selections or any(_is_meant(cell, text) for text in selections)]


def _is_meant(cell: Cell, text: str) -> bool:
    return text in (str(cell), cell.victim, cell.stage)


def main(arguments: Sequence[str]) -> int:
    """Run the cells; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="e.g. worker/parsing, web or writing; repeatable")
    parser.add_argument(
        "--folder", type=Path, help="keep everything here, in an empty folder (default: a temporary one)"
    )
    options = parser.parse_args(arguments)
    try:
        wanted = chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    # So that the server is stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-kills-")))
        server = Server(folder.resolve())
        stack.callback(server.stop)
        server.start()
        return _matrix(server, wanted)


def _matrix(server: Server, wanted: Sequence[Cell]) -> int:
    sent = files()
    expected, seconds = cells.undisturbed(server, sent)
    print(f"Undisturbed: {len(sent)} files, {expected.chunks} chunks, {seconds:.1f} s\n\n{cells.HEAD}", flush=True)
    failed = 0
    for cell in wanted:
        for attempt in range(1, TIMES + 1):
            outcome = cells.run(
                server, cell, name=f"{cell.victim}-{cell.stage}-{attempt}", files=sent, expected=expected
            )
            print(outcome.row(), flush=True)
            if not outcome.is_to_be_repeated:
                break
        if not outcome.is_good:
            failed += 1
            print(server.tail(), file=sys.stderr, flush=True)
    print(f"\n{len(wanted) - failed} of {len(wanted)} cells are good.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
