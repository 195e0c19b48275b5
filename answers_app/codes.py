"""The codes of an answer's failures (E 4.5), with the status that each has."""

from __future__ import annotations

from typing import Final

from core_app.errors import (
    FarSideFailed,
    FarSideSlow,
    InvalidInput,
    ModelFailed,
    NotFound,
    RagsiteError,
    TooManyRequests,
    Unavailable,
)

STORE_DOWN: Final = "RAG-ERR-001"
STORE_SLOW: Final = "RAG-ERR-002"
LLM_FAILED: Final = "RAG-ERR-003"
LLM_LIMITED: Final = "RAG-ERR-004"
INVALID: Final = "RAG-ERR-005"
NO_EVIDENCE: Final = "RAG-ERR-006"
STEP_FAILED: Final = "RAG-ERR-007"


def of_retrieval(error: Exception) -> RagsiteError:
    """What it means for an answer that a search failed (RAG-ERR-001, -002, -005, -006)."""
    if isinstance(error, NotFound):
        return NotFound(error.detail, code=NO_EVIDENCE)
    if isinstance(error, InvalidInput):
        return InvalidInput(error.detail, code=INVALID, errors=error.errors)
    if isinstance(error, FarSideSlow):
        return FarSideSlow(error.detail, code=STORE_SLOW)
    if isinstance(error, Unavailable):
        return Unavailable(error.detail, code=STORE_DOWN, retry_after_seconds=error.retry_after_seconds)
    return Unavailable(
        "The passages could not be searched. Try again in a few seconds; the server's log has the cause.",
        code=STORE_DOWN,
    )


def of_model(error: Exception) -> RagsiteError:
    """What it means that the chat model did not answer (RAG-ERR-003, -004, -007)."""
    if isinstance(error, Unavailable) and error.code == "llm_rate_limited":
        return TooManyRequests(error.detail, code=LLM_LIMITED, retry_after_seconds=error.retry_after_seconds)
    if isinstance(error, RagsiteError):
        return FarSideFailed(error.detail, code=LLM_FAILED)
    return ModelFailed(
        "A step of the answer failed: what the chat model wrote could not be used. Ask again, or name another model; "
        "the server's log has the cause.",
        code=STEP_FAILED,
    )
