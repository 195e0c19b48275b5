"""The whole of it: understand, retrieve, rank, answer, each within its time and with what to do where it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import dspy  # type: ignore[import-untyped]

from answers_app.codes import NO_EVIDENCE, of_model, of_retrieval
from answers_app.evidence import Interpretation, Ranking, Retrieved, Said, Warned
from answers_app.program.asking import Asking
from answers_app.program.engine import model_for
from answers_app.program.modules import (
    AnswerGenerator,
    EvidenceRanker,
    QueryUnderstanding,
    RetrieveEvidence,
    Search,
    as_found,
)
from core_app.config import Answers
from core_app.errors import NotFound

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class RagProgram(dspy.Module):  # type: ignore[misc]  # dspy has no types
    """The modules together, as an optimiser takes them and a version keeps them."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.understanding = QueryUnderstanding()
        self.retrieval = RetrieveEvidence(search)
        self.ranker = EvidenceRanker()
        self.generator = AnswerGenerator()

    def forward(self, question: str, top_k: int = 10, top_n: int = 5) -> dspy.Prediction:
        """All steps, each as good as the model is: what an optimiser measures."""
        interpretation = self.understanding(user_question=question).interpretation
        retrieved = self.retrieval(interpretation=interpretation, top_k=top_k).retrieved
        ranking = self.ranker(
            chunks=retrieved.chunks, interpreted_query=interpretation.interpreted_query, top_n=top_n
        ).ranking
        said = self.generator(question=question, interpretation=interpretation, ranking=ranking).said
        return dspy.Prediction(interpretation=interpretation, retrieved=retrieved, ranking=ranking, said=said)


@dataclass(kw_only=True)
class Run:
    """One question on its way through the steps."""

    program: RagProgram
    asking: Asking
    limits: Answers
    warnings: list[Warned] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def understood(self, question: str) -> Interpretation:
        """The question's interpretation; the question as it is where the model gave none in time."""
        plain = Interpretation(
            interpreted_query=question, intent="", entities=[], query_type="other", answer_format_hints=None
        )
        with self._step("understanding", self.limits.understanding_seconds):
            return self._or(
                lambda: self.program.understanding(user_question=question).interpretation,
                instead=plain,
                code="not_interpreted",
                detail="The question was searched as it is: the model did not interpret it in time or in form.",
            )

    def retrieved(self, interpretation: Interpretation, *, top_k: int) -> Retrieved:
        """Passages. Raises what `of_retrieval` makes of a failure, and NotFound where there is none."""
        with self._step("retrieval", self.limits.rewriting_seconds):
            queries = self._or(
                lambda: self.program.retrieval.queries(interpretation),
                instead=[interpretation.interpreted_query],
                code="not_rewritten",
                detail="Only the question itself was searched: the model wrote no other queries in time or in form.",
            )
            found = self.program.retrieval.retrieved(queries, top_k)
        if found.problem is not None:
            logger.error("retrieval failed", exc_info=found.problem)
            raise of_retrieval(found.problem) from found.problem
        if not found.chunks:
            raise NotFound(
                "Nothing was found that could answer this. Ask in other words, or name other collections.",
                code=NO_EVIDENCE,
            )
        logger.info("evidence retrieved", extra={"chunks": len(found.chunks), "queries": len(queries)})
        return found

    def ranked(self, retrieved: Retrieved, interpretation: Interpretation, *, top_n: int) -> Ranking:
        """The best passages; in the search's order where the model gave none in time."""

        def asked() -> Ranking:
            found = self.program.ranker(
                chunks=retrieved.chunks, interpreted_query=interpretation.interpreted_query, top_n=top_n
            )
            self.warnings += found.warnings
            ranking: Ranking = found.ranking
            return ranking

        with self._step("ranking", self.limits.ranking_seconds):
            return self._or(
                asked,
                instead=Ranking(
                    evidence=as_found(retrieved.chunks, top_n), merged_reasoning="", conflict_resolution=None
                ),
                code="not_ranked",
                detail="Passages stand in the order of the search, and contradictions were not looked for: the model "
                "did not rank them in time or in form.",
            )

    def said(self, question: str, interpretation: Interpretation, ranking: Ranking) -> Said:
        """The answer. Raises what `of_model` makes of a failure: there is nothing to say in its place."""
        with self._step("generation", self.limits.generation_seconds):
            try:
                found = self.program.generator(question=question, interpretation=interpretation, ranking=ranking)
            except Exception as error:
                cause = self.asking.failure or error
                logger.error("the answer was not generated", exc_info=cause)
                raise of_model(cause) from cause
        self.warnings += found.warnings
        said: Said = found.said
        return said

    @contextmanager
    def _step(self, name: str, seconds: float) -> Iterator[None]:
        began = time.monotonic()
        logger.info("step of an answer begun", extra={"step": name})
        with self.asking.step(seconds), dspy.context(lm=model_for(self.asking), adapter=dspy.JSONAdapter()):
            try:
                yield
            finally:
                self.seconds[name] = round(time.monotonic() - began, 4)
                logger.info("step of an answer ended", extra={"step": name, "seconds": self.seconds[name]})

    def _or(self, call: Callable[[], Result], *, instead: Result, code: str, detail: str) -> Result:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever a model or DSPy raises, the question goes on
            cause = self.asking.failure or error
            logger.warning("a step of an answer was left out", extra={"warning": code, "cause": type(cause).__name__})
            self.warnings.append(Warned(code=code, detail=detail))
            return instead
