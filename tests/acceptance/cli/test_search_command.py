"""`manage.py search`: what may be asked for beside the query, and what is printed of it."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.cli.running import output_of, refused
from tests.integration.search.asked import break_call, filled

pytestmark = pytest.mark.django_db

TEXTS = {"a": "The quick brown fox.", "b": "A lazy dog sleeps.", "c": "Foxes hunt at night."}


@pytest.fixture(autouse=True)
def _collections(db: None) -> None:
    filled("c", TEXTS, metadata={name: {"kind": name} for name in TEXTS})
    filled("d", {"x": "One more fox."})


def places(printed: str) -> list[str]:
    return re.findall(r"^\d+\. \d\.\d{3}  (.+)$", printed, re.MULTILINE)


def test_one_collection_and_several() -> None:
    assert {*places(output_of("search", "c", "fox"))} == {*TEXTS}
    assert {*places(output_of("search", "c, d", "fox"))} == {"c: a", "c: b", "c: c", "d: x"}


def test_a_filter_a_leg_and_a_limit() -> None:
    assert places(output_of("search", "c", "fox", "--where", '{"kind": "c"}')) == ["c"]
    assert {*places(output_of("search", "c", "fox", "--legs", "lexical"))} == {"a", "c"}
    assert len(places(output_of("search", "c", "fox", "--top-k", "1"))) == 1


def test_what_else_may_be_asked_for() -> None:
    assert "The quick brown fox." in output_of("search", "c", "dog", "--topic", "fox", "--legs", "lexical")
    printed = output_of("search", "c", "fox", "--expand", "window:1", "--group-size", "1", "--diversity", "0.5")
    assert len(places(printed)) == 3
    assert "\nkind: a 1, b 1, c 1\n" in output_of("search", "c", "fox", "--facet", "kind")


def test_words_that_no_passage_has_are_a_row() -> None:
    printed = output_of("search", "c", "fox", "--legs", "lexical", "--where", '{"kind": "z"}', "--explain")
    assert re.search(r"a word of the query +0\n", printed)


@pytest.mark.parametrize("mode", ["fast", "balanced", "thorough"])
def test_c_req_001_the_mode_is_named(mode: str) -> None:
    printed = output_of("search", "c", "fox", "--mode", mode)
    assert printed.splitlines()[-1].endswith(f" ms, {mode}")
    assert ("warning: No reranker" in printed) is (mode == "thorough")


def test_an_explanation_is_a_table_that_adds_up() -> None:
    printed = output_of("search", "c", "fox night", "--explain", "--fusion", "rrf")
    assert "meaning in c: all compared" in printed
    assert re.search(r"^ms: words \d+\.\d, embedding ", printed, re.MULTILINE)
    tables = re.findall(r"meaning .* (\d\.\d{4})\n +words .* (\d\.\d{4})\n +together +\d+ +(\d\.\d{4})", printed)
    tables += re.findall(r"meaning .* (\d\.\d{4})\n +words +(0\.0000)\n +together +\d+ +(\d\.\d{4})", printed)
    assert len({*tables}) == 3
    for meaning, words, together in tables:
        assert float(meaning) + float(words) == pytest.approx(float(together), abs=1.5e-4)


def test_why_nothing_was_found_is_a_table() -> None:
    printed = output_of("search", "c", "fox", "--where", '{"kind": "z"}', "--explain")
    assert re.search(r'condition +passages +left\n +in the collection +3 +3\n +"kind" is "z" +0 +0\n', printed)


def test_b3_5_a_failing_leg_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    break_call(monkeypatch, "lexical")
    printed = output_of("search", "c", "fox")
    assert "warning: The search by words failed: results are by meaning alone." in printed
    assert len(places(printed)) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["c", "fox", "--where", "{"], "where"),
        (["c", "fox", "--where", '{"kind": {"$above": 1}}'], "$above"),
        (["c,nowhere", "fox"], "Collection 'nowhere' not found"),
        ([",", "fox"], "collections: name 1 to 100."),
        (["c", "fox", "--expand", "all"], "window:N"),
        (["c", "fox", "--min-score", "5"], "from 0 to 1"),
        (["c", "fox", "--group-size", "0"], "from 1 to 10"),
        (["c", " "], "a query of 1 to 4000 characters"),
        (["c", "x" * 4001], "a query of 1 to 4000 characters"),
        (["c", "\udcff"], "in the terminal's encoding"),
    ],
)
def test_a_mistake_is_a_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in refused("search", *arguments)
