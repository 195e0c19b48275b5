"""What can go wrong with a call: which failures pass, and what the log is told of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core_app.rate_limits import wait_seconds
from core_app.retrying import PassingFailure, TooOften

#: That pass: timeouts and too many requests at a time, beside whatever is 500 and above.
_PASSING = frozenset({408, 425})
TOO_MANY = 429
_LONGEST_WORDS = 300
_LONGEST_CHAIN = 5


class Refusal(Exception):
    """The service understood that it was asked, and does not want to answer."""


class Senseless(Exception):
    """Something answered, but not as the service does."""


def of_status(status: int, headers: Mapping[str, str], words: str) -> PassingFailure | Refusal:
    """What an answer of HTTP that is no success means."""
    said = f"HTTP {status}: {words}"
    if status == TOO_MANY:
        return TooOften(said, retry_after=wait_seconds(headers))
    if status in _PASSING or status >= 500:
        return PassingFailure(said, retry_after=wait_seconds(headers))
    return Refusal(said)


def of_connection(error: Exception) -> PassingFailure | Senseless:
    """What it means that a library got no answer: it says so, too, of one that was not read to its end."""
    cause = error.__cause__
    return Senseless(str(cause)) if isinstance(cause, Senseless) else PassingFailure(str(error))


def causes(error: BaseException, *, secret: str) -> str:
    """The chain of exceptions for the log, outermost first: classes and words, the key taken out."""
    return " <- ".join(f"{type(one).__name__}: {_words(one, secret)}" for one in _chain(error))


def _words(error: BaseException, secret: str) -> str:
    """The key is taken out first: half of one, where the words are cut, would not be found."""
    words = str(error)
    for form in {secret, repr(secret)[1:-1]} - {""}:
        words = words.replace(form, "...")
    return " ".join(words.split())[:_LONGEST_WORDS]


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
