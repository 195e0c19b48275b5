"""What `POST /rerank` adds to the model's own time, and how eight clients at once share it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from benchmarks.storage.servers import ragsite

CLIENTS = 8


def served_rows(folder: Path, model: Path, scorer: Any, query: str, passages: list[str], rounds: int) -> Iterator[str]:
    """The scorer in this process and the server's, in turns; then the server alone with all clients."""
    body = {"query": query, "documents": [{"id": str(n), "text": text} for n, text in enumerate(passages)]}
    with (
        ragsite(folder / "server", "--cross-encoder-path", str(model)) as url,
        httpx.Client(base_url=url, timeout=600) as http,
    ):

        def ask() -> None:
            answer = http.post("/rerank", json=body)
            answer.raise_for_status()
            assert len(answer.json()["reranked"]) == len(passages)

        ask()
        alone, over_http = [], []
        for _ in range(rounds):
            alone.append(_took(lambda: scorer.scores(query=query, texts=passages)))
            over_http.append(_took(ask))
        own, whole = statistics.median(alone), statistics.median(over_http)
        yield f"\n{len(passages)} passages: the model {own:.0f} ms, over HTTP {whole:.0f} ms, {whole / own:.2f} times"
        with ThreadPoolExecutor(CLIENTS) as clients:
            began = time.perf_counter()
            times = list(clients.map(lambda _: _several(url, body, rounds), range(CLIENTS)))
            seconds = time.perf_counter() - began
        each = sorted(statistics.median(one) for one, _ in times)
        everything = sorted(took for one, _ in times for took in one)
        refused = sum(failed for _, failed in times)
        pace = CLIENTS * rounds * len(passages) / seconds
        yield (
            f"{CLIENTS} clients, {rounds} requests each: {pace:.1f} passages a second "
            f"(alone {1000 * len(passages) / whole:.1f}); p50 of the luckiest {each[0]:.0f} ms, of the unluckiest "
            f"{each[-1]:.0f} ms; longest {everything[-1]:.0f} ms; {refused} answers other than 200"
        )


def _several(url: str, body: dict[str, Any], rounds: int) -> tuple[list[float], int]:
    failed = 0
    took = []
    with httpx.Client(base_url=url, timeout=600) as http:
        for _ in range(rounds):
            began = time.perf_counter()
            failed += http.post("/rerank", json=body).status_code != httpx.codes.OK
            took.append(1000 * (time.perf_counter() - began))
    return took, failed


def _took(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)
