"""Folders of BEIR come in as a collection with test cases, and go out again with the same content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from collections_app.models import Chunk, Document
from search_app.models import TestCase

pytestmark = pytest.mark.django_db
GRADES = [("q1", "a", 3), ("q1", "b", 0), ("q2", "c", 1), ("q3", "gone", 1)]


def write(folder: Path, corpus: list[dict[str, Any]] | None = None) -> Path:
    rows = corpus or [
        {"_id": "a", "title": "Tea", "text": "Green tea is steamed.", "metadata": {"year": 2020}},
        {"_id": "b", "title": "", "text": "Coffee is roasted.", "url": "https://e.example"},
        {"_id": "c", "text": "Water\u2028boils."},
    ]
    queries = [{"_id": f"q{n}", "text": f"What of {n}?"} for n in range(1, 5)]
    (folder / "qrels").mkdir(parents=True)
    for name, lines in (("corpus", rows), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    judged = "".join(f"{query}\t{passage}\t{grade}\n" for query, passage, grade in GRADES)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder


def content(name: str) -> tuple[Any, ...]:
    chunks = Chunk.objects.filter(collection__name=name).select_related("document").order_by("position")
    rows = [(row.external_id, row.document and row.document.title, row.text, row.metadata) for row in chunks]
    cases = TestCase.objects.filter(collection__name=name).order_by("name")
    grades = [(case.name, case.query, {row.external_id: row.grade for row in case.judgements.all()}) for case in cases]
    return rows, grades


def test_a_folder_goes_in_and_out_with_the_same_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_collection", "set", "--beir", str(write(tmp_path / "one")))
    said = capsys.readouterr().out
    assert "Test cases saved: 2; not saved: 1; left out: 0." in said
    assert "None of its relevant passages" in said
    assert Document.objects.get(collection__name="set").source == "a"
    rows, cases = content("set")
    assert rows[0] == ("a", "Tea", "Green tea is steamed.", {"year": 2020})
    assert rows[1] == ("b", None, "Coffee is roasted.", {"url": "https://e.example"})
    assert cases[0] == ("q1", "What of 1?", {"a": 3, "b": 0})
    call_command("export", "set", "--beir", str(tmp_path / "two"))
    call_command("import_collection", "again", "--beir", str(tmp_path / "two"))
    assert content("again") == content("set")
    capsys.readouterr()
    call_command("import_collection", "again", "--beir", str(tmp_path / "two"))
    assert "Chunks: 0 new, 0 replaced, 3 unchanged." in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"has a corpus\.jsonl already"):
        call_command("export", "set", "--beir", str(tmp_path / "two"))


def test_queries_are_limited_and_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "one"))
    call_command("import_collection", "set", "--beir", folder, "--dry-run")
    assert "Chunks: 3 new" in capsys.readouterr().out
    assert not Chunk.objects.exists()
    call_command("import_collection", "set", "--beir", folder, "--queries", "1")
    assert "Test cases saved: 1; not saved: 0; left out: 2." in capsys.readouterr().out
    with pytest.raises(CommandError, match="There are: test"):
        call_command("import_collection", "set", "--beir", folder, "--split", "dev")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}], "line 2: _id"),
        ([{"_id": "a"}], "line 1: write an object with _id and text"),
        ([{"_id": "a", "text": "x\0"}], "line 1: text"),
    ],
)
def test_a_passage_that_cannot_be_stored_is_named(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("import_collection", "set", "--beir", str(write(tmp_path / "one", rows)))
    assert not Chunk.objects.exists()


def test_a_file_of_passages_alone_is_imported_without_test_cases(tmp_path: Path) -> None:
    file = tmp_path / "passages.jsonl"
    file.write_text('{"id": 1, "text": "One."}\n')
    call_command("import_collection", "set", "--beir", str(file))
    assert content("set") == ([("1", None, "One.", {})], [])
