"""From judged queries to a folder with a cross-encoder, and what it is worth."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core_app.errors import Conflict
from rerank_app.training.bm25 import WordIndex
from rerank_app.training.judged import Candidates, Judged, read_candidates, read_judged, split
from rerank_app.training.learning import Learned, Recipe, learn, load_base, score
from rerank_app.training.measuring import WEIGHTS, Ordering, Quality

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

#: Beside the model's own files.
REPORT = "training.json"
_MOST_CANDIDATES = 100


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What was learned from how much, and what it brought."""

    base: str
    recipe: Recipe
    #: How many queries were learned from, chose the weight, and were held out.
    learned_from: int
    tuned_on: int
    held_out: int
    #: Candidates of a query that are put in order.
    depth: int
    learned: Learned
    #: Of the cross-encoder in what is interpolated; chosen on queries that are neither held out nor learned from.
    interpolation: float
    before: Quality
    after: Quality

    @property
    def weight(self) -> float | None:
        """What `Rerank:Weight` is to be; None where the candidates' own order is the best."""
        best = max(self.after.candidates, self.after.alone, self.after.interpolated)
        if best == self.after.candidates:
            return None
        return 1.0 if best == self.after.alone else self.interpolation


def train_reranker(
    *,
    source: Path,
    output: Path,
    base: str,
    recipe: Recipe,
    hold_out: float,
    depth: int,
    candidates_file: Path | None = None,
    threads: int = 0,
) -> Trained:
    """Fine-tune and save; `output` is there only when everything is done.

    Raises Conflict, NotFound, InvalidInput or Unavailable before anything is learned.
    """
    _check_output(output)
    judged = read_judged(source)
    parts = split(judged, hold_out=hold_out, seed=recipe.seed)
    candidates = _candidates(judged, candidates_file)
    loaded = load_base(base, max_length=recipe.max_length, seed=recipe.seed, threads=threads)
    ordering = Ordering(candidates=candidates, grades=judged.grades)
    at_first = score(loaded.model, parts.held_out, judged=judged, candidates=candidates, depth=depth)
    learned = learn(loaded, parts.learned_from, judged=judged, candidates=candidates, recipe=recipe)
    unseen = [*parts.tuned_on, *parts.held_out]
    at_last = score(loaded.model, unseen, judged=judged, candidates=candidates, depth=depth)
    weight = max(WEIGHTS, key=lambda tried: ordering.ndcg(parts.tuned_on, at_last, tried))
    trained = Trained(
        base=base,
        recipe=recipe,
        learned_from=len(parts.learned_from),
        tuned_on=len(parts.tuned_on),
        held_out=len(parts.held_out),
        depth=depth,
        learned=learned,
        before=ordering.quality(parts.held_out, at_first, weight),
        after=ordering.quality(parts.held_out, at_last, weight),
        interpolation=weight,
    )
    _save(loaded.model, trained, output)
    return trained


def _check_output(output: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise Conflict("The output folder is not empty. Name one that does not exist yet.", code="output_not_empty")


def _candidates(judged: Judged, file: Path | None) -> Mapping[str, Candidates]:
    if file is not None:
        given = read_candidates(file, judged)
        return {query: given.get(query, {}) for query in judged.queries}
    index = WordIndex(judged.documents)
    return {query: index.best(text, most=_MOST_CANDIDATES) for query, text in judged.queries.items()}


def _save(model: CrossEncoder, trained: Trained, output: Path) -> None:
    """Beside its place first: a model that is half there would load, or fail, at the next start of a server."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        model.save_pretrained(str(unfinished), create_model_card=False)
        report = {**asdict(trained), "weight": trained.weight}
        (unfinished / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        # Not for their owner alone, as temporary folders and the weights are: a server is often another user.
        unfinished.chmod(0o755)
        for path in unfinished.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
