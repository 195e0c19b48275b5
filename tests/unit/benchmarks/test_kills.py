"""The kill matrix without its server: what counts as lost and doubled, how a stage is told, which cells are run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.kills import inventory
from benchmarks.kills.__main__ import chosen
from benchmarks.kills.cells import EVERY, FLUSHED, PROMISED_SECONDS, STAGES, Cell, Outcome
from benchmarks.kills.client import passages_with
from benchmarks.kills.corpus import files, parts
from benchmarks.kills.inventory import Held, Inventory, Passage, Verdict, compare, count_canaries
from benchmarks.kills.server import PROBE
from benchmarks.kills.stages import EMBEDDING, FRAMES, PARSING, WRITING, stages_of

ROOT = Path(__file__).resolve().parents[3]


def held(source: str, *ordinals: int, state: str = "ready") -> Held:
    passages = [Passage(external_id=f"{source}:{n}", ordinal=n, digest=f"text {n}") for n in ordinals]
    return Held(source=source, state=state, chunk_count=len(passages), passages=passages)


def stored(*documents: Held) -> Inventory:
    count = sum(len(document.passages) for document in documents)
    return Inventory(documents=documents, vectors=count, words=count)


RIGHT = stored(held("a", 0, 1, 2), held("b", 0))


def test_the_same_again_is_good() -> None:
    verdict = compare(RIGHT, RIGHT)
    count_canaries(verdict, {"a": 1, "b": 1})
    assert verdict == Verdict()
    assert verdict.is_good


@pytest.mark.parametrize(
    "found",
    [
        stored(held("a", 0, 1, 2)),
        stored(held("a", 0, 1, 2), held("b", 0, state="failed")),
        stored(held("a", 0, 1, 2), held("b")),
        stored(held("a", 0, 1, 2), replace(held("b", 0), passages=[Passage(external_id="b:0", ordinal=0, digest="?")])),
    ],
    ids=["not there", "failed", "empty", "another text"],
)
def test_a_file_without_all_of_its_passages_is_lost(found: Inventory) -> None:
    assert compare(found, RIGHT).lost == {"b"}


@pytest.mark.parametrize(
    ("found", "duplicated"),
    [
        (stored(held("a", 0, 1, 1, 2), held("b", 0)), 2),  # by its place and by its id
        (stored(held("a", 0, 1, 2), held("b", 0), held("b", 0)), 2),
        (replace(RIGHT, vectors=6), 2),
        (replace(RIGHT, words=5), 1),
        (replace(RIGHT, stray=1, vectors=5, words=5), 1),
    ],
    ids=["chunk", "document", "vectors", "words", "chunk of no document"],
)
def test_what_is_there_twice_is_counted(found: Inventory, duplicated: int) -> None:
    verdict = compare(found, RIGHT)
    assert (verdict.duplicated, verdict.lost) == (duplicated, set())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (stored(held("a", 0, 1, 2), replace(held("b", 0), chunk_count=2)), "b: chunk_count is not 1"),
        (stored(held("a", 0, 1, 3), held("b", 0)), "a: ordinals are not 0 to 2"),
        (
            stored(
                held("a", 0, 1, 2),
                replace(held("b", 0), passages=[Passage(external_id="b:0", ordinal=0, digest="text 0", vectors=0)]),
            ),
            "b: a chunk has no vector",
        ),
        (replace(RIGHT, words=3), "4 chunks, 4 vectors, 3 in the word index; undisturbed 4"),
        (stored(*RIGHT.documents, held("c", 0)), "c was never sent"),
    ],
)
def test_what_disagrees_is_told(found: Inventory, words: str) -> None:
    verdict = compare(found, RIGHT)
    assert any(sentence.startswith(words) for sentence in verdict.wrong), verdict
    assert not verdict.is_good


def test_a_word_must_be_found_exactly_once() -> None:
    verdict = Verdict()
    inventory.count_canaries(verdict, {"a": 0, "b": 3, "c": 1})
    assert (verdict.lost, verdict.duplicated) == ({"a"}, 2)


def test_a_passage_counts_when_words_and_meaning_found_it() -> None:
    def hit(content: str, score: float) -> dict[str, object]:
        return {"content": content, "metadata": {"rrf_score": score}}

    results = [hit("a wren", 1 / 61 + 1 / 90), hit("a wren", 1 / 61), hit("a crow", 2 / 61)]
    assert passages_with("wren", results) == 1


def dump(*frames: tuple[str, str]) -> str:
    return "".join(f'  File "/somewhere/{file}", line 7 in {function}\n' for file, function in frames)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_told_by_the_stack(stage: str) -> None:
    inner = ("/site-packages/torch/functional.py", "forward")
    assert stages_of(dump(inner, *FRAMES[stage], ("ingest_app/work.py", "run_job"))) == {stage}


@pytest.mark.parametrize(
    "stacks",
    [
        "",
        dump(("ingest_app/leases.py", "_beat"), ("ingest_app/work.py", "run_job")),
        dump(FRAMES[WRITING][0]),  # its words are not being written yet
        dump(FRAMES[EMBEDDING][1]),  # a query's, or the warm-up
        dump(("ingest_app/parsing/sandbox.py", "_exchange_of_another_name")),
    ],
)
def test_whatever_else_a_worker_does_is_no_stage(stacks: str) -> None:
    assert stages_of(stacks) == set()


def test_the_functions_that_tell_a_stage_still_have_these_names() -> None:
    for file, function in (frame for frames in FRAMES.values() for frame in frames):
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), (file, function)


def test_a_process_tells_where_it_is_while_it_is_busy(tmp_path: Path) -> None:
    work = "hashlib.pbkdf2_hmac('sha512', b'', b'', 10**9)"
    script = f"import hashlib\ndef busy():\n    {work}\nprint('begins', flush=True)\nbusy()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(PROBE), "KILLS_STACKS": str(tmp_path)},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        stacks = tmp_path / str(process.pid)

        def tells() -> bool:
            process.send_signal(signal.SIGUSR2)
            return "in busy\n" in stacks.read_text()

        until(tells)
    finally:
        process.kill()
        process.communicate()


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_every_victim_is_killed_at_every_stage_and_the_broker_flushed() -> None:
    assert len(EVERY) == len(set(EVERY)) == 13
    assert chosen([]) == list(EVERY)


def test_cells_are_chosen_by_name() -> None:
    assert chosen(["worker/parsing"]) == [Cell(victim="worker", stage=PARSING)]
    assert [str(cell) for cell in chosen(["web", "broker/flushed"])] == [
        "web/parsing",
        "web/embedding",
        "web/writing",
        f"broker/{FLUSHED}",
    ]
    assert {cell.stage for cell in chosen(["writing"])} == {WRITING}
    with pytest.raises(ValueError, match="worker/flushed: choose of worker/parsing, "):
        chosen(["worker/flushed"])


def test_a_cell_is_good_only_when_all_of_it_is() -> None:
    good = Outcome(cell=EVERY[0], seen="there", ended=PROMISED_SECONDS)
    assert good.is_good
    assert good.row().endswith("| 0 | 0 | 0 | good |")
    for broken in (
        replace(good, seen=""),
        replace(good, ended=None),
        replace(good, ended=PROMISED_SECONDS + 0.1),
        replace(good, verdict=Verdict(lost={"a"})),
        replace(good, verdict=Verdict(duplicated=1)),
        replace(good, verdict=Verdict(wrong=["a job is failed"])),
    ):
        assert not broken.is_good
        assert "FAILED" in broken.row()


def test_only_a_cell_whose_stage_was_missed_is_run_again() -> None:
    missed = Outcome(cell=EVERY[0], missed=True)
    assert missed.is_to_be_repeated, "the stage was not seen, and nobody was killed"
    unconfirmed = replace(missed, ended=1.0)
    assert unconfirmed.is_to_be_repeated
    for told in (
        replace(unconfirmed, missed=False),
        replace(unconfirmed, ended=PROMISED_SECONDS + 0.1),
        replace(unconfirmed, verdict=Verdict(lost={"a"})),
        replace(unconfirmed, verdict=Verdict(wrong=["a job is failed"])),
    ):
        assert not told.is_to_be_repeated


def test_each_file_has_a_word_of_its_own() -> None:
    sent = files()
    contents = b"".join(file.content for file in sent)
    assert [contents.count(file.canary.encode()) for file in sent] == [1] * len(sent)
    assert [file for group in parts(sent) for file in group] == sent
    assert len(parts(sent)) == 3
