"""Cross-encoders to choose from: what the help, --list-reranker-models, the start and the docs say of them (A10).

Needs no settings and no Django: the list can be shown whatever is wrong with the configuration.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LIST_FLAG = "--list-reranker-models"
_FILE = Path(__file__).with_name("reranker_models.toml")
#: Bytes of a weight as it is loaded.
_WEIGHT = 4


@dataclass(frozen=True, kw_only=True)
class Model:
    """One of them."""

    #: On the Hugging Face hub.
    name: str
    #: Millions of weights.
    parameters: float
    #: Of 10 passages, about.
    latency_ms: int
    #: In a word or two: basic, good, better, high.
    tier: str
    #: What is known of it.
    accuracy: str
    languages: str
    use: str
    #: As published; the benchmark builds models of it.
    shape: Mapping[str, Any]

    @property
    def size(self) -> str:
        """Of its weights on disk and in memory."""
        megabytes = self.parameters * _WEIGHT
        return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"

    @property
    def latency(self) -> str:
        """Of 10 passages, for people."""
        return f"{self.latency_ms / 1000:.1f} s" if self.latency_ms >= 1000 else f"{self.latency_ms} ms"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Models for one use: fast, recommended, high accuracy."""

    title: str
    use: str
    models: tuple[Model, ...]


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All of them, in groups, the fastest first."""

    groups: tuple[Group, ...]
    #: What to name where one is enough.
    example: str
    #: How latencies were measured.
    measured: str
    note: str
    #: Where to find others.
    hub: str

    @property
    def models(self) -> tuple[Model, ...]:
        return tuple(model for group in self.groups for model in group.models)


@cache
def catalogue() -> Catalogue:
    """As the data file has it."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    groups = tuple(
        Group(**{**group, "models": tuple(Model(**model) for model in group["models"])}) for group in data.pop("groups")
    )
    return Catalogue(groups=groups, **data)


def listing() -> str:
    """What --list-reranker-models prints; fits into 80 columns."""
    return "\n".join(_listing(catalogue()))


def _listing(known: Catalogue) -> Iterator[str]:
    name = max(len(model.name) for model in known.models)
    yield "Cross-encoders for reranking"
    for group in known.groups:
        yield f"\n{group.title.capitalize()}: {group.use}\n"
        yield f"  {'model':{name}}  {'size':>7}  {'latency':>7}  accuracy"
        for model in group.models:
            yield f"  {model.name:{name}}  {model.size:>7}  {model.latency:>7}  {model.tier}"
            yield f"    {model.accuracy}"
            yield f"    {model.languages}; {model.use}"
    yield f"\nLatency is for 10 documents: {known.measured}."
    yield "Accuracy is as the models' authors tell; your own texts and queries decide."
    yield known.note
    yield f"Find more: {known.hub}"
    yield "\nLoad one, by its name or from a folder:"
    yield f"  python server.py --cross-encoder {known.example}"
    yield "  python server.py --cross-encoder-path FOLDER"


def examples() -> str:
    """For the help of a flag: each with its group, size, latency and use, one a line."""
    return "\n".join(
        f"- {model.name} ({group.title}; {model.size}, {model.latency}): {model.use}"
        for group in catalogue().groups
        for model in group.models
    )


def banner() -> tuple[str, ...]:
    """What a start says that has no cross-encoder, line by line (A10.3)."""
    return (
        "cross-encoder is disabled: POST /rerank answers 503, and searches are not reranked by one",
        f"to enable it, start with a model, such as --cross-encoder {catalogue().example}",
        f"{LIST_FLAG} shows the models to choose from",
    )
