"""The client of a reranking service elsewhere: puts documents in order there, or leaves them as they are (A14).

It never raises for what the service does: an answer in the order of before is worth more than none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from core_app.far_side import FarSide, FarSideError
from core_app.reranking import rerank_body, scores_of, sendable
from rerank_app.fields import MOST_DOCUMENTS

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]

#: How long the service's health is remembered; and how long to wait for it at most.
HEALTH_SECONDS = 30.0
_HEALTH_TIMEOUT_SECONDS = 5.0
#: A thousand ids of a thousand characters are a few megabytes.
LARGEST_ANSWER = 16 * 1024 * 1024
_LONGEST_ID = 1000


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
        self._health: _Health | None = None
        self._service = FarSide(
            base_url=base_url,
            headers=headers or {},
            timeout_seconds=timeout_seconds,
            largest_answer=LARGEST_ANSWER,
            what="reranking service",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._service.close()

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
        except FarSideError as error:
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
        """By id, of all of them or of the `top_k` best; as many as one request may have. Raises FarSideError."""
        body = rerank_body(query=query, texts={key: _text(one) for key, one in documents.items()}, top_k=top_k)
        return scores_of(self._asked("POST", "/rerank", body), documents, top_k)

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
        except FarSideError as error:
            failure = str(error)
        until = time.monotonic() + HEALTH_SECONDS
        return _Health(has_cross_encoder=has_cross_encoder, failure=failure, until=until)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The JSON object that the service answers; nothing that is asked here changes anything there."""
        seconds = None if body is not None else _HEALTH_TIMEOUT_SECONDS
        return self._service.ask(method, path, body=body, seconds=seconds, is_repeatable=True)


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
    return own if isinstance(own, str) and len(own) <= _LONGEST_ID and own == sendable(own) else ""


def _text(document: Document) -> str:
    text = document.get("text")
    if not isinstance(text, str):
        text = document.get("content")
    return text if isinstance(text, str) else ""
