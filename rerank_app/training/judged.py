"""Reads what to learn from: queries, texts, and which text is relevant to which query."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core_app.errors import InvalidInput, NotFound

#: document id → score, best first.
Candidates = Mapping[str, float]
#: Fewer than these cannot be divided into what is learned from, what is tuned on and what is measured on.
LEAST_QUERIES = 10
#: Of the queries that are not held out: the share that only the weight is chosen on.
_TUNED_ON = 0.1


@dataclass(frozen=True, kw_only=True)
class Judged:
    """By id; each query has at least one relevant document, and each document that is named is there."""

    queries: Mapping[str, str]
    documents: Mapping[str, str]
    #: query → document → grade; above 0 is relevant.
    grades: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Queries, each in one part."""

    learned_from: Sequence[str]
    tuned_on: Sequence[str]
    held_out: Sequence[str]


def read_judged(path: Path) -> Judged:
    """A folder in BEIR's layout, or a file of judged queries. Raises NotFound or InvalidInput."""
    if path.is_dir():
        documents, queries, grades = _read_beir(path)
    elif path.is_file():
        documents, queries, grades = _read_lines(path)
    else:
        raise NotFound(
            "There is no such folder or file. Name a folder in BEIR's layout or a file of judged queries.",
            code="judged_not_found",
        )
    known = {
        query: {document: grade for document, grade in found.items() if document in documents}
        for query, found in grades.items()
        if query in queries
    }
    usable = {query: found for query, found in known.items() if any(grade > 0 for grade in found.values())}
    if not usable:
        raise InvalidInput(
            "There are no judged pairs: no query has a relevant document. Check that the ids in the judgements are "
            "those of the queries and documents.",
            code="no_judged_pairs",
        )
    return Judged(queries={query: queries[query] for query in usable}, documents=documents, grades=usable)


def split(judged: Judged, *, hold_out: float, seed: int) -> Split:
    """Always the same for the same seed. Queries of the same words stay together. Raises InvalidInput."""
    same: dict[str, list[str]] = {}
    for query in sorted(judged.queries):
        same.setdefault(" ".join(judged.queries[query].casefold().split()), []).append(query)
    groups = list(same.values())
    if len(groups) < LEAST_QUERIES:
        raise InvalidInput(
            f"There are too few queries to hold some out: {len(groups)} with a relevant document, and at least "
            f"{LEAST_QUERIES} are needed.",
            code="too_few_queries",
        )
    random.Random(seed).shuffle(groups)  # noqa: S311 - no secret
    held = min(max(1, round(hold_out * len(groups))), len(groups) - 2)
    tuned = max(1, round(_TUNED_ON * (len(groups) - held)))
    parts = [groups[held + tuned :], groups[held : held + tuned], groups[:held]]
    learned_from, tuned_on, held_out = ([query for group in part for query in group] for part in parts)
    return Split(learned_from=learned_from, tuned_on=tuned_on, held_out=held_out)


def read_candidates(path: Path, judged: Judged) -> dict[str, Candidates]:
    """By query, best first; what is not in the set is left out. Raises NotFound or InvalidInput."""
    if not path.is_file():
        raise NotFound("There is no such file of candidates. Check --candidates.", code="candidates_not_found")
    found: dict[str, Candidates] = {}
    for place, line in _lines(path):
        try:
            scores = {str(one["document"]): float(one["score"]) for one in line["candidates"]}
        except (KeyError, TypeError, ValueError):
            raise _bad_line(path, place, '{"query", "candidates": [{"document", "score"}]}') from None
        if str(line.get("query")) in judged.queries:
            best_first = sorted(scores.items(), key=lambda pair: -pair[1])
            found[str(line["query"])] = {name: score for name, score in best_first if name in judged.documents}
    if not any(found.values()):
        raise InvalidInput(
            "No candidate is of a query and a document of the judged set. Check the ids in --candidates.",
            code="no_candidates",
        )
    return found


_Read = tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]


def _read_beir(folder: Path) -> _Read:
    for name in ("corpus.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            raise InvalidInput(f"The folder has no {name}. BEIR's layout is needed.", code="not_beir")
    judgements = sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels.tsv")])
    if not judgements:
        raise InvalidInput("The folder has no judgements in qrels/*.tsv or qrels.tsv.", code="not_beir")
    documents = {
        name: f"{line.get('title') or ''} {text}".strip() for name, text, line in _texts(folder / "corpus.jsonl")
    }
    queries = {name: text for name, text, _ in _texts(folder / "queries.jsonl")}
    grades: dict[str, dict[str, float]] = {}
    for path in judgements:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                grade = _number(row[-1]) if len(row) >= 3 else None
                if grade is not None:  # else it is the heading
                    grades.setdefault(row[0], {})[row[-2]] = grade
    return documents, queries, grades


def _texts(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for place, line in _lines(path):
        if "_id" not in line or not isinstance(line.get("text"), str):
            raise _bad_line(path, place, '{"_id", "text"}')
        yield str(line["_id"]), line["text"], line


def _read_lines(path: Path) -> _Read:
    """Queries and texts are their own ids."""
    documents: dict[str, str] = {}
    queries: dict[str, str] = {}
    grades: dict[str, dict[str, float]] = {}
    for place, line in _lines(path):
        query, text, grade = line.get("query"), line.get("text"), _number(line.get("relevance"))
        if not (isinstance(query, str) and isinstance(text, str) and query.strip() and text.strip()) or grade is None:
            raise _bad_line(path, place, '{"query", "text", "relevance"} with a number as relevance')
        documents[text], queries[query] = text, query
        grades.setdefault(query, {})[text] = grade
    return documents, queries, grades


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for place, written in enumerate(file, start=1):
            if not written.strip():
                continue
            try:
                line = json.loads(written)
            except ValueError:
                line = None
            if not isinstance(line, dict):
                raise _bad_line(path, place, "one JSON object")
            yield place, line


def _bad_line(path: Path, place: int, wanted: str) -> InvalidInput:
    return InvalidInput(f"Line {place} of {path.name} is not {wanted}.", code="bad_line")


def _number(value: object) -> float | None:
    """Finite, or None."""
    if not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
