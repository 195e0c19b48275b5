"""Real text, repeated with variation: as many passages as are wanted, with a vocabulary that grows with them.

A passage is some sentences of one source that follow each other, and some of others. Names as code and data have
them (`sample_4711`) take the place of a few words, most of them rare: without them the vocabulary would be all
there after the first thousand passages. A tenth of the sources is never in a passage: queries are cut out of it.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Sentences = tuple[str, ...]

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])|\n\s*\n")
_LEAST_SENTENCES = 4
#: Words of a passage: of chunks as they are cut by default.
_WORDS = (90, 190)
_NAMED_SHARE = 0.4
_LARGEST_NAME = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text, and the source most of it is about."""

    text: str
    source: int


@dataclass(frozen=True, kw_only=True)
class Library:
    """What passages are made of, and what queries are cut from."""

    kept: list[Sentences]
    held_out: list[Sentences]

    def passages(self, count: int, *, subjects: int, seed: int = 7) -> Iterator[Passage]:
        """Always the same for the same arguments, about the first `subjects` sources."""
        rng = random.Random(seed)
        for _ in range(count):
            source = rng.randrange(min(subjects, len(self.kept)))
            yield Passage(text=self._text(rng, source), source=source)

    def queries(self, count: int, *, words: int, seed: int = 11) -> list[str]:
        """Different ones, each of so many words that follow each other."""
        rng = random.Random(f"{seed} {words}")
        found: dict[str, None] = {}
        while len(found) < count:
            parts = " ".join(rng.choice(self.held_out)).split()
            if len(parts) > words:
                start = rng.randrange(len(parts) - words)
                found.setdefault(" ".join(parts[start : start + words]))
        return list(found)

    def _text(self, rng: random.Random, source: int) -> str:
        about = self.kept[source]
        start = rng.randrange(max(len(about) - 3, 1))
        chosen = list(about[start : start + 3])
        wanted = rng.randint(*_WORDS)
        while sum(sentence.count(" ") + 1 for sentence in chosen) < wanted:
            chosen.append(rng.choice(rng.choice(self.kept)))
        return " ".join(_varied(rng, sentence) for sentence in chosen)


def library(folder: Path | None, *, seed: int = 5) -> Library:
    """The standard library's docstrings, and the abstracts of SciFact where `folder` has them."""
    sources = list(_docstrings(Path(sysconfig.get_path("stdlib"))))
    if folder is not None and (folder / "scifact" / "corpus.jsonl").is_file():
        sources += _abstracts(folder / "scifact" / "corpus.jsonl")
    random.Random(seed).shuffle(sources)
    cut = len(sources) // 10
    return Library(kept=sources[cut:], held_out=sources[:cut])


def sentences(text: str) -> Sentences:
    """Of a text in English, by its full stops and empty lines."""
    return tuple(" ".join(part.split()) for part in _SENTENCE.split(text) if len(part.split()) > 2)


def _varied(rng: random.Random, sentence: str) -> str:
    if rng.random() >= _NAMED_SHARE:
        return sentence
    words = sentence.split(" ")
    place = rng.randrange(len(words))
    stem = re.sub(r"\W", "", words[place]).lower() or "item"
    words[place] = f"{stem}_{min(int(rng.paretovariate(0.5)), _LARGEST_NAME)}"
    return " ".join(words)


def _docstrings(folder: Path) -> Iterator[Sentences]:
    for path in sorted(folder.glob("**/*.py")):
        if {"test", "tests", "site-packages", "idlelib"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found = sentences(ast.get_docstring(node) or "")
                if len(found) >= _LEAST_SENTENCES:
                    yield found


def _abstracts(path: Path) -> Iterator[Sentences]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            found = sentences(json.loads(line)["text"])
            if len(found) >= _LEAST_SENTENCES:
                yield found
