"""The flags about cross-encoders, which `serve`, server.py and script/server have in common (A10, A11).

Imported before anything heavy: needs no settings and no Django.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rerank_app.catalogue import LIST_FLAG, catalogue, examples, listing


class LinesKept(argparse.HelpFormatter):
    """Help texts keep their lines, and names are not cut at their dashes."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [
            line
            for part in text.splitlines()
            for line in textwrap.wrap(
                part, width, subsequent_indent="  " if part.startswith("- ") else "", break_on_hyphens=False
            )
        ]


class _PrintList(argparse.Action):
    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **options: Any) -> None:
        print_list()


def add_reranker_flags(parser: argparse.ArgumentParser) -> None:
    """For a parser that formats its help by LinesKept."""
    group = parser.add_argument_group(
        "reranking",
        "A cross-encoder reads each text beside the query. Without one, POST /rerank answers 503.",
    )
    group.add_argument(
        "--cross-encoder",
        metavar="NAME",
        default="",
        help="load this one before the port opens: its name on the Hugging Face hub, from which it is downloaded once. "
        f"It wins over CROSS_ENCODER_MODEL. Example models:\n{examples()}\n"
        f"Latencies are for 10 documents, {catalogue().measured}.",
    )
    group.add_argument(
        "--cross-encoder-path",
        metavar="PATH",
        default="",
        help="load the one in this folder; nothing is downloaded. It wins over --cross-encoder",
    )
    group.add_argument(LIST_FLAG, action=_PrintList, help="list the models to choose from and exit")


def print_list_if_asked(arguments: Sequence[str]) -> None:
    """Print the list and exit, before settings are read: it helps whoever has yet to write them."""
    if LIST_FLAG in arguments:
        print_list()


def print_list() -> None:
    """Raises SystemExit with 0."""
    sys.stdout.write(f"{listing()}\n")
    raise SystemExit(0)
