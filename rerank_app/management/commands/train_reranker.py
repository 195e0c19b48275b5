"""`manage.py train-reranker`: a cross-encoder that has learned from judged queries."""

from __future__ import annotations

import logging
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.names import printable
from rerank_app.training.learning import Recipe
from rerank_app.training.measuring import Quality
from rerank_app.training.services import REPORT, Trained, train_reranker

_DEFAULT = Recipe()


Number = TypeVar("Number", int, float)


def _between(kind: type[Number], least: Number, most: Number) -> Callable[[str], Number]:
    def read(text: str) -> Number:
        try:
            number = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"'{text}' is no number that fits") from None
        if not least <= number <= most:
            raise ArgumentTypeError(f"use a number from {least} to {most}")
        return number

    return read


class Command(BaseCommand):
    help = (
        "Fine-tune a cross-encoder on judged queries, measure it on queries that it never saw, and save it in a folder "
        "that --cross-encoder-path loads. Judged queries are a folder in BEIR's layout (corpus.jsonl, queries.jsonl, "
        'qrels/*.tsv) or a file with lines such as {"query": "...", "text": "...", "relevance": 1}.'
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        d = _DEFAULT
        parser.add_argument("source", type=Path, metavar="JUDGED", help="a folder in BEIR's layout, or a JSONL file")
        parser.add_argument("--output", type=Path, required=True, help="folder for the model; must be new or empty")
        parser.add_argument("--base", default="all-MiniLM-L6-v2", help="encoder or cross-encoder (%(default)s)")
        parser.add_argument("--candidates", type=Path, help="JSONL of what is found of each query (default: BM25)")
        parser.add_argument(
            "--depth", type=_between(int, 2, 1000), default=20, help="candidates to put in order (%(default)s)"
        )
        parser.add_argument(
            "--hold-out", type=_between(float, 0.01, 0.9), default=0.2, help="share of the queries to measure on"
        )
        parser.add_argument("--epochs", type=_between(int, 1, 1000), default=d.epochs, help="default: %(default)s")
        parser.add_argument(
            "--batch-size", type=_between(int, 1, 1024), default=d.batch_size, help="queries a step (%(default)s)"
        )
        parser.add_argument(
            "--learning-rate", type=_between(float, 1e-8, 1.0), default=d.learning_rate, help="default: %(default)s"
        )
        parser.add_argument(
            "--negatives", type=_between(int, 1, 100), default=d.negatives, help="per relevant text (%(default)s)"
        )
        parser.add_argument(
            "--max-length", type=_between(int, 8, 8192), default=d.max_length, help="tokens of a pair (%(default)s)"
        )
        parser.add_argument("--max-minutes", type=_between(float, 0.0, 1e5), help="of learning (default: no end)")
        parser.add_argument("--seed", type=_between(int, 0, 2**31), default=d.seed, help="default: %(default)s")
        parser.add_argument("--threads", type=_between(int, 0, 256), default=0, help="0 means all cores (default)")

    def handle(self, *args: Any, source: Path, output: Path, base: str, **given: Any) -> None:
        # That a fresh head is made, and of what, is no news here.
        logging.disable(logging.WARNING)
        try:
            trained = train_reranker(
                source=source,
                output=output,
                base=base,
                recipe=Recipe(**{name: given[name] for name in Recipe.__dataclass_fields__}),
                hold_out=given["hold_out"],
                depth=given["depth"],
                candidates_file=given["candidates"],
                threads=given["threads"],
            )
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        except OSError as error:
            raise CommandError(f"The model could not be saved: {error.strerror or type(error).__name__}.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped. Nothing was saved.", returncode=130) from None
        finally:
            logging.disable(logging.NOTSET)
        self._print(trained, output)

    def _print(self, trained: Trained, output: Path) -> None:
        learned = trained.learned
        self.stdout.write(
            f"Learned from {trained.learned_from} queries in {learned.steps} steps and {learned.seconds / 60:.1f} "
            f"minutes; chose the weight on {trained.tuned_on}; measured on {trained.held_out} held out."
        )
        if learned.steps < learned.planned:
            self.stdout.write(f"The time was over after {learned.steps} of {learned.planned} steps.")
        self.stdout.write(f"\n{f'nDCG@10, first {trained.depth} re-ordered':<40}{'before':>8}{'after':>8}")
        self._print_rows(trained.before, trained.after, trained.interpolation)
        name = printable(str(output))
        self.stdout.write(f"\nSaved in {name}, with these figures in {REPORT}.")
        if trained.weight is None:
            self.stdout.write("The candidates' own order is the best of these: better not load it.")
            return
        self.stdout.write(f"Load it: python server.py --cross-encoder-path {name}")
        if trained.weight < 1:
            self.stdout.write(f"The best of these is both together: set Rerank:Weight to {trained.weight}.")

    def _print_rows(self, before: Quality, after: Quality, weight: float) -> None:
        rows = [
            ("candidates' own order", before.candidates, after.candidates),
            ("cross-encoder alone", before.alone, after.alone),
            (f"both, weight {weight}", before.interpolated, after.interpolated),
        ]
        for what, first, second in rows:
            self.stdout.write(f"{what:<40}{first:>8.4f}{second:>8.4f}")
