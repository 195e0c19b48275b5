"""The client of a reranking service elsewhere: puts documents in order there, or leaves them as they are (A14).

It never raises for what the service does: an answer in the order of before is worth more than none.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx

from core_app.errors import InvalidInput
from core_app.retrying import MOST_TRIES, PassingFailure, with_retry
from rerank_app.fields import MOST_DOCUMENTS

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]

#: How long the service's health is remembered; and how long to wait for it at most.
HEALTH_SECONDS = 30.0
_HEALTH_TIMEOUT_SECONDS = 5.0
#: A thousand ids of a thousand characters are a few megabytes.
LARGEST_ANSWER = 16 * 1024 * 1024
_LONGEST_ID = 1000
_LONGEST_REASON = 300
#: The rest is not mended by asking again.
_WORTH_ANOTHER_TRY = {429, 502, 503, 504}
#: Longer than that nobody waits for another try, whatever `Retry-After` says.
_LONGEST_WAIT_SECONDS = 2.0


class RemoteFailed(Exception):
    """The service did not do what was asked; the text is for the log and holds no address and no key."""

    def __init__(self, reason: str, *, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class _Passing(RemoteFailed, PassingFailure):
    """What may go well the next time: nothing that is asked here changes anything there."""

    def __init__(self, reason: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(reason, status=status)
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True)
class _Health:
    """What the service said of itself, and until when that is believed."""

    has_cross_encoder: bool
    #: Why nothing is known; empty where something is.
    failure: str
    until: float


class RemoteReranker:
    """One service. May be used by several threads."""

    def __init__(
        self,
        *,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 30.0,
        name: str = "remote",
    ) -> None:
        """`timeout_seconds` bounds each request; `headers` are sent with each, to this address only.

        Raises InvalidInput where an address or a header is none.
        """
        self._name = name
        self._timeout_seconds = timeout_seconds
        self._health: _Health | None = None
        self._client = httpx.Client(base_url=_base(base_url), headers=_headers(headers or {}), follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def rerank(self, *, query: str, documents: Sequence[Document], top_k: int | None = None) -> Sequence[Document]:
        """The documents best first, with the service's `score`, all other fields as they were; the `top_k` best.

        All of them, as they were given, where the service cannot be reached, has no cross-encoder, or fails.
        A document's text is its `text`, or else its `content`. More than one request may have go in several.
        """
        if not documents or not self._is_ready():
            return documents
        given = dict(zip(wire_ids(documents), documents, strict=True))
        ids = list(given)
        scores: dict[str, float] = {}
        try:
            for first in range(0, len(ids), MOST_DOCUMENTS):
                part = {key: given[key] for key in ids[first : first + MOST_DOCUMENTS]}
                scores |= self._scores(query, part, top_k)
        except RemoteFailed as error:
            self._health = None  # look again before the next one
            logger.error(
                "reranking failed, the order stays: %s",
                error,
                extra={"reranker": self._name, "status": error.status, "documents": len(documents)},
            )
            return documents
        best = sorted(scores, key=lambda key: -scores[key])[:top_k]
        return [{**given[key], "score": scores[key]} for key in best]

    def _scores(self, query: str, documents: Mapping[str, Document], top_k: int | None) -> dict[str, float]:
        """By id, of all of them or of the `top_k` best; as many as one request may have. Raises RemoteFailed."""
        body: dict[str, Any] = {
            "query": _clean(query),
            "documents": [{"id": key, "text": _text(one)} for key, one in documents.items()],
        }
        if top_k is not None:
            body["top_k"] = top_k
        return _scores_of(self._asked("POST", "/rerank", body), documents, top_k)

    def _is_ready(self) -> bool:
        health = self._health
        if health is None or time.monotonic() >= health.until:
            health = self._health = self._look()
        if health.failure:
            logger.warning(
                "the reranking service cannot be reached, the order stays: %s",
                health.failure,
                extra={"reranker": self._name},
            )
        elif not health.has_cross_encoder:
            logger.warning(
                "the reranking service has no cross-encoder loaded, or the key is not valid; the order stays",
                extra={"reranker": self._name},
            )
        return health.has_cross_encoder

    def _look(self) -> _Health:
        has_cross_encoder, failure = False, ""
        try:
            answer = self._asked("GET", "/health")
            has_cross_encoder = bool(answer.get("cross_encoder"))
        except RemoteFailed as error:
            failure = str(error)
        until = time.monotonic() + HEALTH_SECONDS
        return _Health(has_cross_encoder=has_cross_encoder, failure=failure, until=until)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The JSON object that the service answers, tried up to three times. Raises RemoteFailed."""
        return with_retry(lambda _: self._ask(method, path, body), seconds=MOST_TRIES * self._timeout_seconds)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The JSON object that the service answers. Raises RemoteFailed."""
        seconds = self._timeout_seconds if body is not None else min(self._timeout_seconds, _HEALTH_TIMEOUT_SECONDS)
        deadline = time.monotonic() + seconds
        # What is compressed could be of any size when it is not.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            with self._client.stream(method, path, json=body, headers=headers, timeout=seconds) as response:
                content = b"".join(_bounded(response, deadline))
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            # It may be at work still: asked again it would have twice as much to do.
            raise RemoteFailed(_transport_reason(error)) from None
        except httpx.TransportError as error:
            raise _Passing(_transport_reason(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
            raise RemoteFailed(f"the request could not be made ({type(error).__name__})") from None
        if response.status_code != httpx.codes.OK:
            raise _refusal(response, content)
        return _json_object(content)


def wire_ids(documents: Sequence[Document]) -> list[str]:
    """An id for each document: its own, or where it has none that can be sent, or one that is taken, a made-up one."""
    given = [_own_id(document) for document in documents]
    taken = set(given)
    used: set[str] = set()
    ids = []
    for index, own in enumerate(given):
        key = own
        if not own or own in used:
            key = next(made for made in _made_up(index) if made not in taken)
            taken.add(key)
        used.add(key)
        ids.append(key)
    return ids


def _made_up(index: int) -> Iterator[str]:
    yield f"document-{index}"
    number = 1
    while True:
        yield f"document-{index}-{number}"
        number += 1


def _own_id(document: Document) -> str:
    """Empty where it has none that the service would take and give back unchanged."""
    own = document.get("id")
    if isinstance(own, int) and not isinstance(own, bool) and own.bit_length() < 1000:
        own = str(own)
    return own if isinstance(own, str) and len(own) <= _LONGEST_ID and own == _clean(own) else ""


def _text(document: Document) -> str:
    text = document.get("text")
    if not isinstance(text, str):
        text = document.get("content")
    return _clean(text) if isinstance(text, str) else ""


def _clean(text: str) -> str:
    """Without what a request cannot hold; one such character must not cost the order."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _scores_of(answer: Mapping[str, Any], documents: Mapping[str, Document], top_k: int | None) -> dict[str, float]:
    """By id. Raises RemoteFailed unless the answer gives each document that was to come back once, with a number."""
    reranked = answer.get("reranked")
    if not isinstance(reranked, list):
        raise RemoteFailed("the answer has no list 'reranked'")
    scores: dict[str, float] = {}
    for one in reranked:
        key = one.get("id") if isinstance(one, dict) else None
        if not isinstance(key, str) or key not in documents:
            raise RemoteFailed("the answer has an id that was not sent")
        if key in scores:
            raise RemoteFailed("the answer has an id twice")
        scores[key] = _number(one.get("score"))
    if len(scores) != min(len(documents), len(documents) if top_k is None else top_k):
        raise RemoteFailed(f"the answer has {len(scores)} of {len(documents)} documents")
    return scores


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise RemoteFailed("the answer has a score that is no number")


def _bounded(response: httpx.Response, deadline: float) -> Iterator[bytes]:
    """The body's pieces. Raises RemoteFailed where it is too large, too slow, or compressed."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RemoteFailed("the answer is compressed, which was not asked for", status=response.status_code)
    arrived = 0
    for piece in response.iter_raw():
        arrived += len(piece)
        if arrived > LARGEST_ANSWER:
            raise RemoteFailed(f"the answer is larger than {LARGEST_ANSWER} bytes", status=response.status_code)
        if time.monotonic() > deadline:
            raise RemoteFailed("the answer took too long", status=response.status_code)
        yield piece


def _json_object(content: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise RemoteFailed("the answer is not JSON") from None
    if not isinstance(value, dict):
        raise RemoteFailed("the answer is no JSON object")
    return value


def _refusal(response: httpx.Response, content: bytes) -> RemoteFailed:
    """What the service says of itself is quoted in one short line."""
    said = ""
    with suppress(RemoteFailed):
        said = str(_json_object(content).get("detail") or "")
    said = "".join(character if character.isprintable() else " " for character in said[:_LONGEST_REASON])
    asked = response.headers.get("Retry-After", "")
    wait_seconds = float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 0.0
    status = response.status_code
    reason = f"it answered {status}" + (f": {said}" if said else "")
    if status in _WORTH_ANOTHER_TRY and wait_seconds <= _LONGEST_WAIT_SECONDS:
        return _Passing(reason, status=status, retry_after=wait_seconds)
    return RemoteFailed(reason, status=status)


def _transport_reason(error: httpx.TransportError) -> str:
    """A failed connection says why; the words of other failures may quote what was sent."""
    said = f": {error}"[:_LONGEST_REASON] if isinstance(error, httpx.ConnectError) else ""
    return f"{type(error).__name__}{said}"


def _base(url: str) -> httpx.URL:
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL:
        base = httpx.URL("")
    if base.scheme not in {"http", "https"} or not base.host:
        raise InvalidInput("The address of a reranking service starts with http:// or https:// and names a host.")
    return base


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not (name.isascii() and value.isascii() and name.isprintable() and value.isprintable()):
            raise InvalidInput("A header of a reranking service holds a character that headers cannot have.")
    return dict(headers)
