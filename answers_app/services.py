"""Questions, answered from collections."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from answers_app.codes import INVALID, LLM_FAILED
from answers_app.evidence import Answer, EvidenceChunk
from core_app.chat_models import ChatModel
from core_app.errors import InvalidInput, RagsiteError, Unavailable
from core_app.where import Where
from core_app.wiring import app_settings, chat_model
from search_app.services import search_collections

logger = logging.getLogger(__name__)

MAX_QUESTION = 4000
TOP_K, LEAST_TOP_K, MOST_TOP_K = 10, 5, 50
TOP_N, MOST_TOP_N = 5, 20
#: What is said where the passages that were found have no answer.
NOT_THERE = "The documents that were found do not answer this question."
#: The program as it is written, which no optimiser has changed.
UNOPTIMISED = "0"
_guard = threading.Lock()
_under_way = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, and where the answer may come from."""

    text: str
    collections: Sequence[str]
    #: Passages that are retrieved, and those of them that the answer is made of.
    top_k: int = TOP_K
    top_n: int = TOP_N
    #: Nothing else is retrieved.
    where: Where | None = None
    filter_name: str | None = None
    #: For the query log.
    asked_by: str = "server"


def answer(*, question: Question) -> Answer:
    """Understand, retrieve, rank, answer (E 2). Raises errors with RAG-ERR codes, as `codes` has them."""
    _check(question)
    model = _model()
    limits = app_settings().answers
    began = time.monotonic()
    with _turn(limits.concurrency):
        # Its import takes a second, and what it imports is an extra.
        from answers_app.program.asking import Asking  # noqa: PLC0415 - an extra
        from answers_app.program.pipeline import RagProgram, Run  # noqa: PLC0415 - an extra

        asking = Asking(model=model, deadline=began + limits.total_seconds)
        run = Run(program=RagProgram(searching(question)), asking=asking, limits=limits)
        interpretation = run.understood(question.text)
        retrieved = run.retrieved(interpretation, top_k=question.top_k)
        ranking = run.ranked(retrieved, interpretation, top_n=question.top_n)
        said = run.said(question.text, interpretation, ranking)
    found = Answer(
        answer="",
        said=said,
        interpretation=interpretation,
        retrieved=retrieved,
        ranking=ranking,
        model_used=asking.model_used,
        token_usage=asking.token_usage,
        cost=asking.cost,
        warnings=run.warnings,
        seconds={
            **run.seconds,
            "model": round(asking.model_seconds, 4),
            "total": round(time.monotonic() - began, 4),
        },
        program_version=UNOPTIMISED,
    )
    _log(found)
    return found


def written(found: Answer) -> str:
    """The answer as text, with the numbers of its sources in square brackets behind each sentence."""
    if not found.said.is_answered:
        return NOT_THERE
    ranks = {one.chunk.chunk_id: one.rank for one in found.ranking.evidence}
    return " ".join(
        sentence.text + "".join(f" [{ranks[key]}]" for key in sentence.chunk_ids) for sentence in found.said.sentences
    )


def _log(found: Answer) -> None:
    logged = {
        "confidence": found.said.confidence,
        "is_answered": found.said.is_answered,
        "model": found.model_used,
        "tokens": dict(found.token_usage),
        "cost": found.cost,
        "warnings": [warning.code for warning in found.warnings],
        "seconds": dict(found.seconds),
    }
    logger.info("question answered", extra=logged)


def _check(question: Question) -> None:
    if not question.text.strip() or len(question.text) > MAX_QUESTION:
        raise InvalidInput(f"Send a question of 1 to {MAX_QUESTION} characters.", code=INVALID)
    if not question.collections:
        raise InvalidInput("collections: name at least one.", code=INVALID)


def _model() -> ChatModel:
    if find_spec("dspy") is None:
        raise Unavailable(
            "This server was installed without what answers questions. Run: script/install base answers",
            code=LLM_FAILED,
            retry_after_seconds=60,
        )
    try:
        model = chat_model()
    except RagsiteError as error:
        raise Unavailable(error.detail, code=LLM_FAILED, retry_after_seconds=60) from error
    if model is None:
        raise Unavailable(
            "No chat model is configured. Make a connection to one and name it in Llm:Connection, or set Llm:Provider.",
            code=LLM_FAILED,
            retry_after_seconds=60,
        )
    return model


def searching(question: Question) -> Callable[[str, int], Sequence[EvidenceChunk]]:
    """What finds so many passages for a query where this question may be answered from."""

    def find(query: str, top_k: int) -> Sequence[EvidenceChunk]:
        found = search_collections(
            collection_names=question.collections,
            query=query,
            top_k=top_k,
            where=question.where,
            filter_name=question.filter_name,
            asked_by=question.asked_by,
        )
        return [
            EvidenceChunk(
                chunk_id=hit.id,
                document_id=str(hit.metadata.get("source") or hit.id),
                collection=hit.collection,
                content=hit.content,
                relevance_score=hit.score,
                metadata=hit.metadata,
            )
            for hit in found.hits
        ]

    return find


@contextmanager
def _turn(most: int) -> Iterator[None]:
    """One of so many questions at a time: a model's time is what others wait for."""
    global _under_way
    with _guard:
        if _under_way >= most:
            raise Unavailable(
                f"{most} questions are being answered, as many as Answers:Concurrency allows. Try again in a moment.",
                code=LLM_FAILED,
            )
        _under_way += 1
    try:
        yield
    finally:
        with _guard:
            _under_way -= 1
