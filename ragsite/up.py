"""`python -m ragsite.up`: the whole server in the foreground. `script/server` ends here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ragsite.reranker_flags import LinesKept, add_reranker_flags
from ragsite.runtime.plan import ROOT, Options
from ragsite.runtime.supervisor import Supervisor


def parse(arguments: Sequence[str]) -> Options:
    """Our own flags; what we do not know goes to `manage.py serve` as it is."""
    parser = argparse.ArgumentParser(
        prog="script/server",
        description="Start Ragsite: database, broker, workers and web server, in the foreground.",
        epilog="Other flags are passed on to `manage.py serve`.",
        allow_abbrev=False,
        formatter_class=LinesKept,
    )
    parser.add_argument("--port", type=_port, default=8000, help="port to listen on (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=ROOT / "var", help="folder that holds all state (default: var)")
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="load no demo collection")
    parser.add_argument("--verbose", action="store_true", help="show every log line on the console")
    add_reranker_flags(parser)
    known, others = parser.parse_known_args(arguments)
    return Options(
        data=known.data.expanduser().resolve(),
        host=known.host,
        port=known.port,
        demo=known.demo,
        verbose=known.verbose,
        serve_flags=(*others, *_reranker_flags(known.cross_encoder, known.cross_encoder_path)),
    )


def _reranker_flags(name: str, path: str) -> list[str]:
    """For `serve`, which runs in another folder than we."""
    flags = ["--cross-encoder", name] if name else []
    return [*flags, "--cross-encoder-path", str(Path(path).expanduser().resolve())] if path else flags


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError("use a number from 1 to 65535")
    return int(text)


def main(arguments: Sequence[str]) -> int:
    """Run until stopped; returns the exit status."""
    return Supervisor(parse(arguments)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
