"""Asking another server to put texts in order: what is sent to its `/rerank`, and what must come back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from core_app.far_side import FarSideError
from core_app.json_values import finite_number


def rerank_body(*, query: str, texts: Mapping[str, str], top_k: int | None) -> dict[str, Any]:
    """The request; `texts` by the id that the answer should call them."""
    documents = [{"id": key, "text": sendable(text)} for key, text in texts.items()]
    return {"query": sendable(query), "documents": documents} | ({} if top_k is None else {"top_k": top_k})


def sendable(text: str) -> str:
    """Without what a request cannot hold; one such character must not cost the order."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def scores_of(answer: Mapping[str, Any], ids: Collection[str], top_k: int | None) -> dict[str, float]:
    """By id, in the answer's order.

    Raises FarSideError unless the answer gives each document that was to come back once, with a number.
    """
    reranked = answer.get("reranked")
    if not isinstance(reranked, list):
        raise FarSideError("the answer has no list 'reranked'")
    scores: dict[str, float] = {}
    for one in reranked:
        key = one.get("id") if isinstance(one, dict) else None
        if not isinstance(key, str) or key not in ids:
            raise FarSideError("the answer has an id that was not sent")
        if key in scores:
            raise FarSideError("the answer has an id twice")
        score = finite_number(one.get("score"))
        if score is None:
            raise FarSideError("the answer has a score that is no number")
        scores[key] = score
    if len(scores) != min(len(ids), len(ids) if top_k is None else top_k):
        raise FarSideError(f"the answer has {len(scores)} of {len(ids)} documents")
    return scores
