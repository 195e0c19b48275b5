"""Reads a judged set in BEIR's layout: corpus.jsonl, queries.jsonl and qrels.tsv in one folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Text:
    id: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class JudgedSet:
    """Documents, queries by id, and judgements by query and document."""

    name: str
    documents: tuple[Text, ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]

    def subset(self, size: int) -> JudgedSet:
        """About `size` documents: those judged for the first queries, then others in order; always the same."""
        kept: dict[str, None] = {}
        queries: dict[str, str] = {}
        for query, grades in self.judgements.items():
            if len(kept) + len(grades) > size // 3:
                break
            kept |= dict.fromkeys(grades)
            queries[query] = self.queries[query]
        for document in self.documents:
            if len(kept) >= size:
                break
            kept.setdefault(document.id)
        return replace(
            self,
            documents=tuple(document for document in self.documents if document.id in kept),
            queries=queries,
            judgements={query: self.judgements[query] for query in queries},
        )


def load(folder: Path) -> JudgedSet:
    """The set in `folder`; queries without judgements are left out."""
    judgements: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file, delimiter="\t"):
            if row and row[-1].lstrip("-").isdigit():
                judgements.setdefault(row[0], {})[row[-2]] = int(row[-1])
    texts = {str(line["_id"]): str(line["text"]) for line in _lines(folder / "queries.jsonl")}
    return JudgedSet(
        name=folder.name,
        documents=tuple(
            Text(id=str(line["_id"]), title=str(line.get("title") or ""), text=str(line["text"]))
            for line in _lines(folder / "corpus.jsonl")
        ),
        queries={query: texts[query] for query in judgements if query in texts},
        judgements={query: grades for query, grades in judgements.items() if query in texts},
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
