"""The files of the matrix: each stage lasts for seconds, and each file has a word that is nowhere else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

#: Paragraphs that show nothing: the page takes its parser seconds, and the model no time at all.
EMPTY_PARAGRAPHS = 40_000
SECTIONS = 40
WORDS = (
    "harbour",
    "lantern",
    "orchard",
    "granite",
    "meadow",
    "copper",
    "window",
    "thunder",
    "basket",
    "river",
    "engine",
)


@dataclass(frozen=True, kw_only=True)
class File:
    """One file to send, and the word by which it must be found exactly once."""

    name: str
    content: bytes
    canary: str


def files() -> list[File]:
    """In the order of work: while the slow page is parsed, one is written and one with the model."""
    return [
        _book("first.md", "wrenalpha"),
        _book("second.md", "wrencharlie"),
        _slow_page("slow.html", "wrenbravo"),
        _book("third.md", "wrendelta"),
        File(name="rows.csv", content=b"thing,where\nwrenecho,harbour\nlantern,orchard\n", canary="wrenecho"),
        File(name="note.txt", content=b"A short note about wrenfoxtrot and the tide.\n", canary="wrenfoxtrot"),
    ]


def parts(found: Sequence[File]) -> list[list[File]]:
    """Three jobs: the first is at the slow page while the others wait."""
    return [list(found[:3]), list(found[3:4]), list(found[4:])]


def _book(name: str, canary: str) -> File:
    source = random.Random(canary)
    sections = []
    for number in range(SECTIONS):
        words = source.choices(WORDS, k=90)
        if number == SECTIONS // 2:
            words[10] = canary
        sections.append(f"## Section {number}\n\n{' '.join(words)}.\n")
    return File(name=name, content=f"# {name}\n\n{''.join(sections)}".encode(), canary=canary)


def _slow_page(name: str, canary: str) -> File:
    text = f"<h1>Slow</h1><p>This page speaks of {canary} and of little else.</p>"
    page = f"<html><body>{text}{'<p><b></b> <i></i></p>' * EMPTY_PARAGRAPHS}</body></html>"
    return File(name=name, content=page.encode(), canary=canary)
