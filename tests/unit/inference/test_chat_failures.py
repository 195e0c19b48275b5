"""What an answer of HTTP means, and what the log is told of a failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from core_app.retrying import PassingFailure
from inference_app.chat.failures import Refusal, causes, of_status


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504, 529])
def test_these_pass(code: int) -> None:
    assert isinstance(of_status(code, {}, "no"), PassingFailure)


@pytest.mark.parametrize("code", [301, 400, 401, 402, 403, 404, 413, 422])
def test_these_do_not(code: int) -> None:
    assert isinstance(of_status(code, {}, "no"), Refusal)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2),
        ("0.5", 0.5),
        ("-3", 0),
        ("nan", 0),
        ("inf", 0),
        ("soon", 0),
        ("", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0),
        ("Mon, 01 Jan 2000 00:00:00 +99999999999999999999", 0),
        ("1" * 100_000, 0),
        ("," * 10_000, 0),
    ],
)
def test_how_long_a_service_wants_to_be_left_alone(value: str, seconds: float) -> None:
    failure = of_status(429, {"retry-after": value}, "no")
    assert isinstance(failure, PassingFailure)
    assert failure.retry_after == seconds


def test_it_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    failure = of_status(503, {"retry-after": later}, "no")
    assert isinstance(failure, PassingFailure)
    assert 3000 < failure.retry_after <= 3600


def test_the_log_gets_the_chain_without_the_key() -> None:
    try:
        try:
            raise OSError("cannot reach http://host with key-\n1")
        except OSError as error:
            raise PassingFailure("lost") from error
    except PassingFailure as error:
        words = causes(error, secret="key-\n1")
    assert words == "PassingFailure: lost <- OSError: cannot reach http://host with ..."


def test_a_key_at_the_cut_is_taken_out_whole() -> None:
    words = causes(ValueError("x" * 295 + "sk-secret"), secret="sk-secret")
    assert "sk" not in words
