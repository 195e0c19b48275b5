"""Texts analysed in a process of their own: the same as analysed here, whatever happens to the process."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from stores_app.lexical import worker as worker_module
from stores_app.lexical.analysing import AnalysedTexts, analyse
from stores_app.lexical.worker import AnalysisWorker

TEXTS = ["The quick brown foxes", "hook.player.connected", "", "\u6771\u4eac caf\u00e9", "foxes " * 3]
MANY = TEXTS * 50_000


@pytest.fixture
def worker() -> AnalysisWorker:
    return AnalysisWorker(least_characters=1)


def same(found: AnalysedTexts, texts: Sequence[str], language: str = "english") -> bool:
    expected = analyse(language=language, texts=texts)
    return found.lengths.tolist() == expected.lengths.tolist() and list(found.blocks) == list(expected.blocks)


def check(worker: AnalysisWorker, texts: Sequence[str] = TEXTS, language: str = "english") -> None:
    with worker.analysing(language=language, texts=texts) as analysis:
        assert same(analysis.result(), texts, language)


def pid_of(worker: AnalysisWorker) -> int:
    child = worker._child
    assert child is not None, "nothing was sent to the process, or it was found dead"
    return child.pid


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_analyses_as_would_be_done_here_one_after_the_other(worker: AnalysisWorker) -> None:
    check(worker)
    pid = pid_of(worker)
    check(worker, ["Die H\u00e4user", "H\u00e4usern"], "german")
    check(worker, TEXTS[:1])
    with worker.analysing(language="english", texts=MANY) as analysis:
        analysis.settle()
        assert len(analysis.result().lengths) == len(MANY)
    assert pid_of(worker) == pid


def test_little_is_not_worth_a_process() -> None:
    worker = AnalysisWorker(least_characters=1000)
    check(worker)
    assert worker._child is None


def test_who_comes_while_it_works_does_it_himself(worker: AnalysisWorker) -> None:
    with (
        worker.analysing(language="english", texts=TEXTS) as first,
        worker.analysing(language="english", texts=TEXTS[:2]) as second,
    ):
        assert same(second.result(), TEXTS[:2])
        assert same(first.result(), TEXTS)
        # It is free as soon as it has answered, whatever the first goes on to wait for.
        with worker.analysing(language="english", texts=TEXTS) as third:
            assert worker._taken.locked()
            assert same(third.result(), TEXTS)


@pytest.mark.parametrize("is_dead_before", [True, False])
def test_a_killed_process_costs_time_and_nothing_else(worker: AnalysisWorker, is_dead_before: bool) -> None:
    check(worker)
    killed = pid_of(worker)
    if is_dead_before:
        os.kill(killed, signal.SIGKILL)
    with worker.analysing(language="english", texts=MANY) as analysis:
        if not is_dead_before:
            os.kill(killed, signal.SIGKILL)
        assert len(analysis.result().lengths) == len(MANY)
    assert is_gone(killed)
    check(worker)
    assert pid_of(worker) != killed


def test_one_that_stands_still_is_not_waited_for_for_ever(
    worker: AnalysisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(worker)
    stopped = pid_of(worker)
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(worker_module, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(worker_module, "_MANY_CHARACTERS", 1)
    with worker.analysing(language="english", texts=TEXTS) as analysis:
        analysis.settle()
        assert is_gone(stopped)
        assert same(analysis.result(), TEXTS)


def test_who_may_hold_a_lock_waits_but_briefly(worker: AnalysisWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    check(worker)
    stopped = pid_of(worker)
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(worker_module, "_BRIEF_SECONDS", 0.1)
    with worker.analysing(language="english", texts=TEXTS) as analysis:
        analysis.settle()
        assert worker._taken.locked(), "so few are not settled before"
        assert same(analysis.result(), TEXTS)
    assert not is_gone(stopped), "it is left to the next one, who finds it free or overdue"
    os.kill(stopped, signal.SIGCONT)
    deadline = time.monotonic() + 60
    while worker._unwanted_until is not None and time.monotonic() < deadline:
        time.sleep(0.05)
        check(worker)
    assert pid_of(worker) == stopped


def test_nor_is_one_that_takes_nothing_in(worker: AnalysisWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_STALLED_SECONDS", 1)
    check(worker)
    stopped = pid_of(worker)
    os.kill(stopped, signal.SIGSTOP)
    with worker.analysing(language="english", texts=MANY) as analysis:
        assert is_gone(stopped)
        assert len(analysis.result().lengths) == len(MANY)


@pytest.mark.parametrize("times", [1, 200_000])
def test_an_answer_that_nobody_fetched_is_not_the_next_ones(worker: AnalysisWorker, times: int) -> None:
    check(worker)
    pid = pid_of(worker)
    with (
        pytest.raises(ZeroDivisionError),
        worker.analysing(language="english", texts=["other words"] * times),
    ):
        raise ZeroDivisionError
    # At once, while it may still be at the other words, and when it is done with them.
    check(worker)
    deadline = time.monotonic() + 60
    while worker._unwanted_until is not None and time.monotonic() < deadline:
        time.sleep(0.05)
        check(worker)
    assert worker._unwanted_until is None
    assert pid_of(worker) == pid


def test_one_that_never_comes_to_an_end_of_what_nobody_wants_is_replaced(
    worker: AnalysisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(worker)
    stopped = pid_of(worker)
    os.kill(stopped, signal.SIGSTOP)
    with monkeypatch.context() as patched, worker.analysing(language="english", texts=TEXTS):
        patched.setattr(worker_module, "_PATIENCE_SECONDS", 0.05)
        # Nobody asks for the result.
    time.sleep(0.1)
    check(worker)
    assert is_gone(stopped)
    check(worker)
    assert pid_of(worker) != stopped


def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "import os, time; from stores_app.lexical.worker import AnalysisWorker\n"
        "worker = AnalysisWorker(least_characters=1)\n"
        "with worker.analysing(language='english', texts=['a']) as analysis: analysis.result()\n"
        "print(worker._child.pid, flush=True); time.sleep(60)"
    )
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        os.kill(pid, signal.SIGTERM)  # as the whole group gets it, while requests are finished
        time.sleep(0.2)
        assert not is_gone(pid)
        starter.kill()
    deadline = time.monotonic() + 10
    while not is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_gone(pid)


def test_without_a_process_it_is_done_here_and_no_longer_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = AnalysisWorker(least_characters=1)
    with monkeypatch.context() as patched:
        patched.setattr("stores_app.lexical.worker.sys.executable", "/nonexistent/python")
        for _ in range(5):
            check(worker)
    assert worker._child is None
    assert worker._failures == 3
    check(worker)
    assert worker._child is None


def test_analysing_leaves_no_cycles_behind() -> None:
    """The process looks for them only now and then."""
    analyse(language="english", texts=TEXTS)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            analyse(language="english", texts=TEXTS)
        assert gc.collect() == 0
    finally:
        gc.enable()
