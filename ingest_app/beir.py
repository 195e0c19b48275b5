"""Folders of BEIR, the layout of sets for measuring retrieval: passages, queries, and which passages are relevant.

`corpus.jsonl` has lines of `_id`, `title`, `text` and perhaps `metadata`, `queries.jsonl` of `_id` and `text`, and
`qrels/SPLIT.tsv`, or `qrels.tsv`, a header and lines of query, passage and grade. Passages become lines of an exported
collection, and are imported as those are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import msgspec
from django.db import transaction

from access_app.audit import record
from collections_app.exporting import CHUNKS_AT_A_TIME, FORMAT
from collections_app.models import Chunk
from collections_app.selectors import get_collection
from core_app.errors import InvalidInput, RagsiteError
from core_app.judged import JudgedQuery
from core_app.snapshot import snapshot
from core_app.wiring import judged_queries, save_judged_query
from ingest_app.exchange_lines import lines_of, read_line

_HEADER = "query-id\tcorpus-id\tscore\n"
_CODE = "invalid_beir"


@dataclass(kw_only=True)
class Queries:
    """What became of queries that have judgements."""

    saved: int = 0
    refused: int = 0
    #: The first refusal, with the query's id.
    reason: str = ""
    #: Queries that were not looked at, because enough were saved.
    left: int = 0


@dataclass(kw_only=True)
class Written:
    passages: int = 0
    queries: int = 0
    judgements: int = 0


@dataclass
class _Seen:
    ids: set[str] = field(default_factory=set)


def corpus_of(path: Path) -> Path:
    """The passages of a folder, or the file itself. Raises InvalidInput where there are none."""
    file = path / "corpus.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise InvalidInput("There is no corpus.jsonl: name a folder of BEIR, or a file of JSON lines.", code=_CODE)
    return file


def write_lines(*, corpus: Path, stream: IO[bytes]) -> None:
    """Passages as the lines of an exported collection. Raises InvalidInput with the line that cannot be stored."""
    encode, seen, count, titled = msgspec.json.Encoder().encode, _Seen(), 0, 0
    stream.write(encode({"kind": "collection", "format": FORMAT, "vectors": False}) + b"\n")
    with corpus.open("rb") as file:
        for number, line in lines_of(file):
            try:
                for made in _lines(_object(line), seen):
                    data = encode(made)
                    read_line(data)
                    stream.write(data + b"\n")
                    titled += made["kind"] == "document"
            except InvalidInput as error:
                raise InvalidInput(f"{corpus.name}, line {number}: {error.detail}", code=error.code) from None
            count += 1
    stream.write(encode({"kind": "end", "documents": titled, "chunks": count}) + b"\n")


def _lines(row: Mapping[str, Any], seen: _Seen) -> Iterator[dict[str, Any]]:
    """A passage; one with a title is a document of one chunk, which is found by its title, too."""
    rest = {key: value for key, value in row.items() if key not in ("_id", "id", "title", "text", "metadata")}
    key, text, title = row.get("_id", row.get("id")), row.get("text"), row.get("title") or ""
    metadata = row.get("metadata") or {}
    if not isinstance(key, str | int) or isinstance(key, bool) or not isinstance(text, str):
        raise InvalidInput("write an object with _id and text.", code=_CODE)
    if not isinstance(title, str) or not isinstance(metadata, dict):
        raise InvalidInput("title is a text, metadata an object.", code=_CODE)
    name = str(key)
    if name in seen.ids:
        raise InvalidInput("_id: a line above has it already.", code=_CODE)
    seen.ids.add(name)
    chunk = {"kind": "chunk", "id": name, "text": text, "metadata": {**rest, **metadata}}
    if title:
        # What differs in it is stored anew.
        digest = sha256(json.dumps([title, text, chunk["metadata"]], sort_keys=True).encode()).hexdigest()
        yield {"kind": "document", "source": name, "title": title, "content_hash": digest}
        chunk["source"] = name
    yield chunk


def has_queries(path: Path) -> bool:
    """Whether it is a folder with queries."""
    return (path / "queries.jsonl").is_file()


def import_queries(*, name: str, folder: Path, split: str, most: int | None, saved_by: str) -> Iterator[Queries]:
    """Keep queries that have judgements as test cases; how far it is, after each. Raises InvalidInput for bad files."""
    done, grades = Queries(), _judgements(folder, split)
    name = get_collection(name=name).name
    with (folder / "queries.jsonl").open("rb") as file:
        for number, line in lines_of(file):
            row = _object(line)
            key, text = str(row.get("_id", row.get("id", ""))), row.get("text")
            if not isinstance(text, str):
                raise InvalidInput(f"queries.jsonl, line {number}: write an object with _id and text.", code=_CODE)
            if key not in grades:
                continue
            if most is not None and done.saved >= most:
                done.left += 1
                continue
            try:
                save_judged_query(
                    collection_name=name, query=JudgedQuery(id=key, text=text, grades=grades[key]), saved_by=saved_by
                )
                done.saved += 1
            except RagsiteError as error:
                done.refused += 1
                done.reason = done.reason or f"{key}: {error.detail}"
            yield done
    yield done


def _judgements(folder: Path, split: str) -> dict[str, dict[str, int]]:
    file = folder / "qrels" / f"{split}.tsv"
    if not file.is_file() and not (folder / "qrels").is_dir():
        file = folder / "qrels.tsv"
    if not file.is_file():
        there = ", ".join(sorted(one.stem for one in (folder / "qrels").glob("*.tsv"))) or "none"
        raise InvalidInput(f"There are no judgements '{split}'. There are: {there}.", code=_CODE)
    found: dict[str, dict[str, int]] = {}
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip("\r\n").split("\t")
            if parts == [""] or (number == 1 and parts[-1] == "score"):
                continue
            try:
                query, passage, grade = parts
                found.setdefault(query, {})[passage] = int(float(grade))
            except (ValueError, OverflowError):
                raise InvalidInput(
                    f"{file.name}, line {number}: write query, passage and grade, with a tab between them.", code=_CODE
                ) from None
    return found


def write_folder(*, name: str, folder: Path, split: str) -> Written:
    """Write chunks as passages and test cases as queries with judgements, of one moment.

    Raises NotFound, and InvalidInput where the folder has passages already or an id has a tab or a line break in it.
    """
    if (folder / "corpus.jsonl").exists():
        raise InvalidInput("The folder has a corpus.jsonl already. Name another folder.", code=_CODE)
    collection, written = get_collection(name=name), Written()
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    with transaction.atomic():
        record("collection.exported", collection, after={"vectors": False})
    with snapshot():
        with (folder / "corpus.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            rows = Chunk.objects.filter(collection=collection).select_related("document").order_by("position")
            after = 0
            while found := list(rows.filter(position__gt=after)[:CHUNKS_AT_A_TIME]):
                after = found[-1].position
                written.passages += len(found)
                file.writelines(_json(_passage(chunk)) for chunk in found)
        with (
            (folder / "queries.jsonl").open("w", encoding="utf-8", newline="\n") as queries,
            (folder / "qrels" / f"{split}.tsv").open("w", encoding="utf-8", newline="\n") as judgements,
        ):
            judgements.write(_HEADER)
            for query in judged_queries(collection_name=collection.name):
                queries.write(_json({"_id": query.id, "text": query.text}))
                for key, grade in query.grades.items():
                    judgements.write(f"{_cell(query.id)}\t{_cell(key)}\t{grade}\n")
                written.queries += 1
                written.judgements += len(query.grades)
    return written


def _passage(chunk: Chunk) -> dict[str, Any]:
    title = chunk.document.title if chunk.document else ""
    return {"_id": chunk.external_id, "title": title, "text": chunk.text, "metadata": chunk.metadata}


def _cell(text: str) -> str:
    if any(sign in text for sign in "\t\r\n"):
        raise InvalidInput(f"'{text[:100]}' has a tab or a line break, which judgements cannot hold.", code=_CODE)
    return text


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("write an object of JSON in each line.", code=_CODE)
    return found
