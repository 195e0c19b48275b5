"""`python -m benchmarks.answers`: what the pipeline of answers costs beside its model, and how questions share it.

The model is scripted, on loopback: it answers at once, then after `--seconds` a call. The collection holds the corpus
of a retrieval set (`RAGSITE_TEST_DATA`), and recall@10 is that of RetrieveEvidence with its questions as they are.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragsite.runtime.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from benchmarks.quality.beir import JudgedSet

QUESTIONS = 40
TOGETHER = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="a call of the slow model (default: %(default)s)")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-answers-")))
        postgres = EmbeddedPostgres(folder / "postgres")
        address = postgres.start()
        stack.callback(postgres.stop)
        os.environ.update(
            {
                "DJANGO_SETTINGS_MODULE": "ragsite.settings",
                "ConnectionStrings__RagDatabase": address.url,
                "ConnectionStrings__Broker": "memory://",
                "Telemetry__LogLevel": "ERROR",
                "RAGSITE_DATA": str(folder / "data"),
            }
        )
        _run(options.seconds, stack)


def _run(seconds: float, stack: ExitStack) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from benchmarks.quality.beir import load
    from benchmarks.quality.measure import fill
    from tests.integration.answers.conftest import plays
    from tests.integration.inference.scripted_chat import held_for, running_server

    server = stack.enter_context(running_server())
    _use(server.address)
    judged = load(Path(os.environ["RAGSITE_TEST_DATA"]) / "anthropic_docs")
    fill(judged, collection="docs", chunking={})
    print(f"recall@10 of RetrieveEvidence on {judged.name}: {_recall(judged):.3f}")
    texts = list(judged.queries.values())[:QUESTIONS]
    server.otherwise = plays()
    _ask(texts[0])
    found = [_ask(text) for text in texts]
    overhead = 1000 * np.array([one["total"] - one["store"] - one["model"] for one in found])
    print(f"overhead without model and searches: p50 {np.percentile(overhead, 50):.0f} ms, ", end="")
    print(f"p95 {np.percentile(overhead, 95):.0f} ms")
    server.otherwise = held_for(seconds, plays())
    one = _wall([texts[0]])
    several = _wall(texts[:TOGETHER])
    print(f"one question {one:.1f} s, {TOGETHER} at a time {several:.1f} s: {several / one:.2f} times")


def _use(address: str) -> None:
    from django.conf import settings

    from core_app.config import Llm

    llm = Llm.model_validate({"provider": "openai", "base_url": f"{address}/v1", "concurrency": 32})
    answers = settings.RAGSITE.answers.model_copy(update={"understanding_seconds": 30.0, "ranking_seconds": 30.0})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"llm": llm, "answers": answers})
    settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE)


def _ask(text: str) -> dict[str, float]:
    from answers_app.services import Question, answer

    found = answer(question=Question(text=text, collections=["docs"]))
    return {**found.seconds, "store": found.retrieved.store_seconds}


def _recall(judged: JudgedSet) -> float:
    """Of the documents that are judged relevant, the share among those of the first ten passages."""
    from answers_app.program.modules import RetrieveEvidence
    from answers_app.services import Question, searching

    shares = []
    for query, text in judged.queries.items():
        module = RetrieveEvidence(searching(Question(text=text, collections=["docs"])))
        found = {chunk.document_id for chunk in module.retrieved([text], 10).chunks}
        wanted = {document for document, grade in judged.judgements[query].items() if grade > 0}
        shares.append(len(found & wanted) / min(len(wanted), 10))
    return float(np.mean(shares))


def _wall(texts: Sequence[str]) -> float:
    with ThreadPoolExecutor(len(texts)) as pool:
        began = time.perf_counter()
        list(pool.map(_ask, texts))
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
