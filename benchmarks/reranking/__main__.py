"""`python -m benchmarks.reranking`: how long cross-encoders take for passages of 200 words.

--catalogue takes models of the shapes in rerank_app/reranker_models.toml, as a server is shipped. --threads takes one
of six layers, MiniLM's shape, with other batches and threads, beside sentence-transformers' own `predict`; --served the
same one behind `POST /rerank`, for one client and for eight. Weights are
random: time does not depend on them. Each figure is the best of several: other work of the machine only adds to it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reranking.made_up import save_model, texts
from benchmarks.reranking.served import served_rows
from rerank_app.catalogue import catalogue

#: As the catalogue says; and as a search has them reranked.
_LISTED, _SEARCHED = 10, 20
_SIX_LAYERS = "cross-encoder/ms-marco-MiniLM-L6-v2"
_BATCHES = (1, 4, 8, 16, 32)
_THREADS = (1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reranking", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catalogue", action="store_true", help="time every model of the catalogue")
    parser.add_argument("--threads", action="store_true", help="time batches and threads")
    parser.add_argument("--served", action="store_true", help="time requests to a server")
    parser.add_argument("--only", default="", help="of the catalogue only names with this in them")
    parser.add_argument("--rounds", type=int, default=5, help="take the best of so many (default: 5)")
    options = parser.parse_args()
    if not (options.catalogue or options.threads or options.served):
        parser.error("say what to time: --catalogue, --threads, --served")
    os.environ.update(DJANGO_SETTINGS_MODULE="ragsite.settings", Telemetry__LogLevel="WARNING")
    with tempfile.TemporaryDirectory(prefix="ragsite-reranking-") as folder:
        os.environ["RAGSITE_DATA"] = folder
        # First: a pool's threads may take the others from torch.
        if options.threads:
            _print(_thread_rows(Path(folder), options.rounds))
        if options.served:
            _print(_served_rows(Path(folder), options.rounds))
        if options.catalogue:
            _print(_catalogue_rows(Path(folder), options.only, options.rounds))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line, flush=True)


def _catalogue_rows(folder: Path, only: str, rounds: int) -> Iterator[str]:
    query, passages = texts(_LISTED)
    yield f"\n| model | weights, millions | {_LISTED} passages, ms | of processors, ms | tokens a pair | loading, s |"
    yield "|---|---|---|---|---|---|"
    for model in catalogue().models:
        if only not in model.name:
            continue
        with tempfile.TemporaryDirectory(dir=folder) as saved:
            parameters = save_model(Path(saved), model.shape)
            began = time.perf_counter()
            scorer = _scorer(saved)
            loading = time.perf_counter() - began
            taken, used = _best(partial(scorer.scores, query=query, texts=passages), rounds)
            tokens = scorer.scores(query=query, texts=passages[:1]).tokens
        times = f"{1000 * taken:.0f} | {1000 * used:.0f}"
        yield f"| `{model.name}` | {parameters:.1f} | {times} | {tokens} | {loading:.1f} |"


def _thread_rows(folder: Path, rounds: int) -> Iterator[str]:
    query, passages = texts(_SEARCHED)
    saved = folder / "six-layers"
    save_model(saved, next(model.shape for model in catalogue().models if model.name == _SIX_LAYERS))
    yield (
        f"\n| {_SEARCHED} passages in batches of | "
        + " | ".join(f"{n} at a time, ms" for n in _THREADS)
        + " | `predict`, ms |"
    )
    yield "|---" * (len(_THREADS) + 2) + "|"
    own = {size: _predicting(saved, query, passages, size, rounds) for size in _BATCHES}
    for size in _BATCHES:
        cells = []
        for threads in _THREADS:
            scorer = _scorer(str(saved), batch_size=size, threads=threads)
            cells.append(_cell(_best(partial(scorer.scores, query=query, texts=passages), rounds)))
        yield f"| {size} | {' | '.join(cells)} | {_cell(own[size])} |"


def _served_rows(folder: Path, rounds: int) -> Iterator[str]:
    query, passages = texts(_SEARCHED)
    saved = folder / "served"
    save_model(saved, next(model.shape for model in catalogue().models if model.name == _SIX_LAYERS))
    yield from served_rows(folder, saved, _scorer(str(saved)), query, passages, rounds)


def _predicting(saved: Path, query: str, passages: list[str], size: int, rounds: int) -> tuple[float, float]:
    """One call of sentence-transformers' own way, with as many threads of torch as there are cores."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(os.cpu_count() or 1)
    model = CrossEncoder(str(saved), device="cpu", local_files_only=True)
    pairs = [(query, passage) for passage in passages]
    return _best(lambda: model.predict(pairs, batch_size=size, show_progress_bar=False), rounds)


def _cell(found: tuple[float, float]) -> str:
    return " / ".join(f"{1000 * seconds:.0f}" for seconds in found)


def _scorer(path: str, **changed: int) -> Any:
    """As a server has it, loaded and warm."""
    import django
    from django.utils.module_loading import import_string

    django.setup()
    from core_app.wiring import app_settings
    from ragsite.wiring import PAIR_SCORER

    scorer = import_string(PAIR_SCORER)(
        app_settings().rerank.model_copy(update={"cross_encoder_path": path, **changed})
    )
    scorer.load()
    return scorer


def _best(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds, and seconds of processors: on a busy machine the latter, divided by cores, are nearer to the truth."""
    work()
    found = []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - began, time.process_time() - used))
    return min(taken for taken, _ in found), min(used for _, used in found)


if __name__ == "__main__":
    main()
