"""C-REQ-004: what a model answers may be of any length, and is read in a time that grows no faster than it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rerank_app.prompting import WrongAnswer, scores_in

#: With something that takes the cube of it, days.
MANY = 100_000
GOOD = '{"scores": [{"passage": 1, "score": 1}, {"passage": 2, "score": 9.5}]}'
SCORES = [1.0, 9.5]


@pytest.mark.parametrize(
    "answer",
    [
        "```json" + "\n" * MANY + "x",
        "```json" + "\n" * MANY + "```",
        "```json" + " " * MANY + GOOD + " " * MANY,
        "```json\n" + GOOD + "\n``" + "\n" * MANY,
        "`" * MANY,
        "```json" * MANY,
        "[" * MANY,
        '{"scores": ' + "[" * MANY,
        '{"scores": ' + "[" * 500 + "]" * 500 + "}",
        '{"scores": [' + "{}," * MANY + "{}]}",
        '{"scores": [{"passage": 1, "score": ' + "1" * MANY + '}, {"passage": 2, "score": 9.5}]}',
        '{"scores": [{"passage": 1, "score": ' + "1" * 500 + '}, {"passage": 2, "score": 9.5}]}',
        '{"scores": [{"passage": ' + "1" * 900 + ', "score": 1}, {"passage": 2, "score": 9.5}]}',
        "{" + '"a": 1,' * MANY + GOOD[1:],
        GOOD[:-1] + " " * MANY + "}",
        "\ud800" + GOOD,
        GOOD.replace("scores", "scores\ud800"),
        "``````",
        "```",
        "",
    ],
    ids=lambda answer: f"{answer[:30]!r} of {len(answer)}",
)
def test_c_req_004_an_answer_made_to_be_slow_to_read_does_not_count(answer: str) -> None:
    with pytest.raises(WrongAnswer):
        scores_in(answer, passages=2)


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        "\n" * MANY + GOOD + " " * MANY,
        "```json" + "\n" * MANY + GOOD + "\n" * MANY + "```",
        "```" + GOOD + "```",
        "\u2003\n```json\t" + GOOD + "\x0c\n```\r\n",
        json.dumps(json.loads(GOOD), indent=8),
    ],
    ids=lambda answer: f"{answer[:30]!r} of {len(answer)}",
)
def test_c_req_004_blanks_around_an_answer_do_no_harm(answer: str) -> None:
    assert scores_in(answer, passages=2) == SCORES


@pytest.mark.parametrize("passages", [1, 10, 1000])
def test_c_req_004_no_right_answer_is_too_long(passages: int) -> None:
    """With all the digits that a number has, and every level on a line of its own."""
    scores: list[Any] = [{"passage": number, "score": 1 / 3} for number in range(1, passages + 1)]
    answer = json.dumps({"scores": scores}, indent=8)
    assert scores_in(answer, passages=passages) == [1 / 3] * passages
