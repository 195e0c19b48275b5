"""The model that learns: its base, its steps, its scores.

A loop of its own, for it is short: sentence-transformers' trainer needs `datasets` and `accelerate`, which nothing else
here does, knows no end by the clock, and would not ask for fresh negatives in every epoch.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from core_app.errors import Unavailable
from inference_app.locating import locate_model
from rerank_app.training.judged import Candidates, Judged

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder

logger = logging.getLogger(__name__)

#: So many of the first candidates are hard to tell from what is relevant; negatives are drawn from them.
_HARD = 30
#: The share of all steps in which the learning rate rises.
_WARM_UP = 0.1
#: A head that knows nothing has further to go than the rest.
_FRESH_HEAD_PACE = 10.0


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to learn."""

    epochs: int = 2
    #: Queries of one step, each with a relevant text and the negatives.
    batch_size: int = 4
    learning_rate: float = 5e-5
    #: Irrelevant texts beside each relevant one.
    negatives: int = 7
    #: Tokens that are read of a pair, here and when the model is served.
    max_length: int = 256
    #: Of learning alone; None is until all epochs are done.
    max_minutes: float | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Base:
    model: CrossEncoder
    #: Whether its head is made of random numbers.
    is_fresh: bool


@dataclass(frozen=True, kw_only=True)
class Learned:
    steps: int
    #: Of the recipe; more than `steps` where the time was over first.
    planned: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _Example:
    query: str
    #: The first is the relevant one.
    texts: Sequence[str]


def load_base(name: str, *, max_length: int, seed: int, threads: int) -> Base:
    """An encoder with a fresh head, or a cross-encoder as it is; 0 threads means all. Raises Unavailable."""
    # Imported here: it takes seconds, and mistakes in the input are told before.
    import torch  # noqa: PLC0415
    from sentence_transformers import CrossEncoder  # noqa: PLC0415
    from transformers import AutoConfig  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types here
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(seed)  # of the fresh head
    try:
        config: Any = AutoConfig.from_pretrained(locate_model(name))
        kind = (config.architectures or [""])[0]
        model: CrossEncoder = CrossEncoder(locate_model(name), device="cpu", num_labels=1)
    except Exception as error:
        logger.exception("the base model %s could not be loaded", name)
        raise Unavailable(
            f"The base model could not be loaded ({type(error).__name__}). Name a folder with an encoder or a "
            "cross-encoder of one score, or a model that is installed.",
            code="base_not_loaded",
        ) from error
    model.max_seq_length = min(max_length, int(model.max_seq_length or max_length))
    return Base(model=model, is_fresh=not kind.endswith("ForSequenceClassification"))


def score(
    model: CrossEncoder, queries: Sequence[str], *, judged: Judged, candidates: Mapping[str, Candidates], depth: int
) -> dict[str, Candidates]:
    """What the model says of the first `depth` candidates of each query, in the candidates' order."""
    import torch  # noqa: PLC0415 - loaded long ago

    model.eval()
    found: dict[str, Candidates] = {}
    for query in tqdm(queries, desc="measuring", unit="query", leave=False, disable=None):
        names = list(candidates[query])[:depth]
        if not names:
            continue
        with torch.inference_mode():
            scores = _logits(model, [(judged.queries[query], judged.documents[name]) for name in names])
        found[query] = dict(zip(names, scores.tolist(), strict=True))
    return found


def learn(
    base: Base, queries: Sequence[str], *, judged: Judged, candidates: Mapping[str, Candidates], recipe: Recipe
) -> Learned:
    """Trains the model in place until the epochs or the minutes are over."""
    import torch  # noqa: PLC0415 - loaded long ago

    torch.manual_seed(recipe.seed)
    draw = random.Random(recipe.seed)  # noqa: S311 - no secret
    optimizer = torch.optim.AdamW(_parameters(base, recipe.learning_rate))
    paces = [group["lr"] for group in optimizer.param_groups]
    relevant = sum(grade > 0 for query in queries for grade in judged.grades[query].values())
    planned = recipe.epochs * -(-relevant // recipe.batch_size)
    most = None if recipe.max_minutes is None else 60 * recipe.max_minutes
    began = time.monotonic()
    steps = 0
    base.model.train()
    with tqdm(total=planned, desc="learning", unit="step", disable=None) as bar:
        for batch in _batches(queries, judged, candidates, recipe, draw):
            gone = time.monotonic() - began
            if most is not None and gone >= most:
                break
            share = max(steps / planned, gone / most if most else 0.0)
            for group, pace in zip(optimizer.param_groups, paces, strict=True):
                group["lr"] = pace * min(1.0, (share + 1 / planned) / _WARM_UP, 1 - share)
            loss = _loss(base.model, batch)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            torch.nn.utils.clip_grad_norm_(base.model.parameters(), 1.0)
            optimizer.step()
            steps += 1
            bar.update()
            bar.set_postfix(loss=f"{loss.item():.3f}")
    return Learned(steps=steps, planned=planned, seconds=time.monotonic() - began)


def _parameters(base: Base, learning_rate: float) -> list[dict[str, Any]]:
    whole: Any = base.model.transformers_model
    body = {id(parameter) for parameter in whole.base_model.parameters()}
    head = [parameter for parameter in whole.parameters() if id(parameter) not in body]
    pace = _FRESH_HEAD_PACE if base.is_fresh else 1.0
    return [
        {"params": list(whole.base_model.parameters()), "lr": learning_rate},
        {"params": head, "lr": pace * learning_rate},
    ]


def _batches(
    queries: Sequence[str], judged: Judged, candidates: Mapping[str, Candidates], recipe: Recipe, draw: random.Random
) -> Iterator[Sequence[_Example]]:
    """Of all epochs; each has every relevant pair once, with negatives of its own."""
    pairs = [(query, name) for query in queries for name, grade in judged.grades[query].items() if grade > 0]
    everything = list(judged.documents)
    for _ in range(recipe.epochs):
        draw.shuffle(pairs)
        for first in range(0, len(pairs), recipe.batch_size):
            yield [
                _Example(
                    query=judged.queries[query],
                    texts=[
                        judged.documents[document]
                        for document in (
                            name,
                            *_negatives(judged.grades[query], candidates[query], everything, recipe.negatives, draw),
                        )
                    ],
                )
                for query, name in pairs[first : first + recipe.batch_size]
            ]


def _negatives(
    grades: Mapping[str, float], candidates: Candidates, everything: Sequence[str], most: int, draw: random.Random
) -> Sequence[str]:
    """First what was judged irrelevant, then what was found and not judged, then anything."""
    irrelevant = [name for name, grade in grades.items() if grade <= 0]
    hard = [name for name in list(candidates)[:_HARD] if name not in grades]
    anything = [name for name in draw.sample(everything, min(len(everything), 3 * most)) if name not in grades]
    shuffled = [name for pool in (irrelevant, hard, anything) for name in draw.sample(pool, len(pool))]
    return list(dict.fromkeys(shuffled))[:most]


def _loss(model: CrossEncoder, batch: Sequence[_Example]) -> torch.Tensor:
    """The relevant text is to be the first of its query's (softmax), and above 0, the others below (cross-entropy).

    The first is what is measured; the second is so that the logistic function of a score means something.
    """
    import torch  # noqa: PLC0415 - loaded long ago

    logits = _logits(model, [(one.query, text) for one in batch for text in one.texts])
    total = torch.zeros(())
    for scores in torch.split(logits, [len(one.texts) for one in batch]):
        wanted = torch.zeros_like(scores)
        wanted[0] = 1.0
        total = total - torch.log_softmax(scores, dim=0)[0]
        total = total + torch.nn.functional.binary_cross_entropy_with_logits(scores, wanted)
    return total / len(batch)


def _logits(model: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
    scores: torch.Tensor = model(model.preprocess(list(pairs)))["scores"].float().reshape(len(pairs))
    return scores
