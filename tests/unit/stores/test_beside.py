"""Words read in a process of their own: the same as read here, whatever happens to the process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence

import pytest

from stores_app.lexical.analysed import Analysed, analysed
from stores_app.lexical.beside import WordsProcess

TEXTS = ["The quick brown foxes", "hook.player.connected", "", "\u6771\u4eac caf\u00e9", "foxes " * 3]


@pytest.fixture
def beside() -> Iterator[WordsProcess]:
    process = WordsProcess(least_characters=1)
    yield process
    process.close()


def same(found: Analysed, texts: Sequence[str], language: str = "english") -> bool:
    expected = analysed(language=language, texts=texts)
    return found.lengths.tolist() == expected.lengths.tolist() and list(found.blocks) == list(expected.blocks)


def pid_of(beside: WordsProcess) -> int:
    child = beside._child
    assert child is not None
    process = child.end.peek()
    assert process is not None
    pid: int = process[2][0].pid
    return pid


def test_it_reads_what_would_be_read_here_one_after_the_other(beside: WordsProcess) -> None:
    for language, texts in (
        ("english", TEXTS),
        ("german", ["Die H\u00e4user", "H\u00e4usern"]),
        ("english", TEXTS[:1]),
    ):
        with beside.reading(language=language, texts=texts) as result:
            assert same(result(), texts, language)
    with beside.reading(language="english", texts=TEXTS * 20_000) as result:
        assert len(result().lengths) == 100_000
    assert pid_of(beside) != os.getpid()


def test_little_is_not_worth_a_process() -> None:
    beside = WordsProcess(least_characters=1000)
    with beside.reading(language="english", texts=TEXTS) as result:
        assert same(result(), TEXTS)
    assert beside._child is None


def test_who_comes_while_it_works_reads_for_himself(beside: WordsProcess) -> None:
    with (
        beside.reading(language="english", texts=TEXTS) as first,
        beside.reading(language="english", texts=TEXTS[:2]) as second,
    ):
        assert same(second(), TEXTS[:2])
        assert same(first(), TEXTS)


@pytest.mark.parametrize("is_dead_before", [True, False])
def test_a_killed_process_costs_time_and_nothing_else(beside: WordsProcess, is_dead_before: bool) -> None:
    with beside.reading(language="english", texts=TEXTS) as result:
        result()
    killed = pid_of(beside)
    if is_dead_before:
        os.kill(killed, signal.SIGKILL)
    many = TEXTS * 50_000
    with beside.reading(language="english", texts=many) as result:
        if not is_dead_before:
            os.kill(killed, signal.SIGKILL)
        assert len(result().lengths) == len(many)
    with beside.reading(language="english", texts=TEXTS) as result:
        assert same(result(), TEXTS)
    assert pid_of(beside) != killed


@pytest.mark.parametrize("times", [1, 100_000])
def test_an_answer_that_nobody_fetched_is_not_the_next_ones(beside: WordsProcess, times: int) -> None:
    with pytest.raises(ZeroDivisionError), beside.reading(language="english", texts=["other words"] * times):
        raise ZeroDivisionError
    with beside.reading(language="english", texts=TEXTS) as result:
        assert same(result(), TEXTS)


def test_it_ends_with_the_process_that_started_it(beside: WordsProcess) -> None:
    with beside.reading(language="english", texts=TEXTS) as result:
        result()
    child = beside._child
    assert child is not None
    found = child.end.peek()
    assert found is not None
    process = found[2][0]
    child._pipe.close()  # as the kernel does when we are killed
    assert process.wait(10) == 0


def test_without_a_process_it_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores_app.lexical.beside.sys.executable", "/nonexistent/python")
    beside = WordsProcess(least_characters=1)
    with beside.reading(language="english", texts=TEXTS) as result:
        assert same(result(), TEXTS)
    assert beside._child is None
