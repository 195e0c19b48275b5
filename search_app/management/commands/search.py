"""`manage.py search`: the same search as over HTTP, on the command line."""

from __future__ import annotations

import logging
import shutil
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.names import printable
from core_app.where import parse_where_text
from search_app.asking import DEFAULT_LIMIT, LARGEST_GROUP, Expansion, SearchOptions
from search_app.explaining import Explanation, HitExplanation
from search_app.modes import FUSIONS, LEGS, MODE_NAMES, RERANKERS
from search_app.results import Hit
from search_app.serializers import MAX_QUERY_LENGTH
from search_app.services import search_collections

#: Characters of a passage that are shown, and of a line where the terminal does not say.
_SHOWN, _LINE = 300, 100


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ArgumentTypeError("use a number from 0 to 1")
    return number


def _group(text: str) -> int:
    number = int(text)
    if not 1 <= number <= LARGEST_GROUP:
        raise ArgumentTypeError(f"use a number from 1 to {LARGEST_GROUP}")
    return number


def _query(text: str) -> str:
    if not 1 <= len(text.strip()) <= MAX_QUERY_LENGTH or any("\ud800" <= character <= "\udfff" for character in text):
        raise ArgumentTypeError(f"send a query of 1 to {MAX_QUERY_LENGTH} characters, in the terminal's encoding")
    return text


class Command(BaseCommand):
    help = "Search a collection, or several, and print the passages with their scores."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="one, or several with commas between them")
        parser.add_argument("query", type=_query)
        parser.add_argument("--top-k", type=int, default=DEFAULT_LIMIT, help="most passages (default: %(default)s)")
        parser.add_argument("--min-score", type=_share, help="least similarity, 0 to 1")
        parser.add_argument("--topic", default="", help="what a follow-up is about, searched for instead")
        parser.add_argument("--where", metavar="JSON", help='a filter, such as {"source": "guide.md"}')
        parser.add_argument("--filter", metavar="NAME", help="a filter that the collection keeps by this name")
        parser.add_argument("--mode", choices=MODE_NAMES, help="how much is done in what time")
        parser.add_argument("--fusion", choices=FUSIONS, help="how words and meaning are merged")
        parser.add_argument("--lexical-weight", type=_share, help="of words in a calibrated fusion, 0 to 1")
        parser.add_argument("--legs", choices=LEGS, help="by words and meaning, or one of them")
        parser.add_argument("--reranker", choices=(*RERANKERS, "none"), help="what puts the best in order once more")
        parser.add_argument("--expand", help="what is shown of a document: section, document or window:N")
        parser.add_argument("--group-size", type=_group, help="most passages of one document")
        parser.add_argument("--diversity", type=_share, default=0.0, help="how much results are to differ, 0 to 1")
        parser.add_argument("--facet", action="append", default=[], help="count this field's values; may be repeated")
        parser.add_argument("--explain", action="store_true", help="say how each place came about")

    def handle(self, *args: Any, collection: str, query: str, explain: bool, **given: Any) -> None:
        # What a server logs of each search is in the way of its answer here.
        logging.disable(logging.INFO)
        try:
            options = SearchOptions(
                top_k=given["top_k"],
                min_score=given["min_score"],
                where=None if given["where"] is None else parse_where_text(given["where"]),
                filter_name=given["filter"],
                mode=given["mode"],
                fusion=given["fusion"],
                lexical_weight=given["lexical_weight"],
                legs=given["legs"],
                reranker=given["reranker"],
                topic=given["topic"],
                expand=None if given["expand"] is None else Expansion.parse(given["expand"]),
                group_size=given["group_size"],
                diversity=given["diversity"],
                facets=given["facet"],
                explain=explain,
                # This process has just begun: loading the model alone takes longer than any mode has.
                patient=True,
                asked_by="command line",
            )
            names = [name for part in collection.split(",") if (name := part.strip())]
            found = search_collections(collection_names=names, query=query, **options)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        finally:
            logging.disable(logging.NOTSET)
        for warning in found.warnings:
            self.stderr.write(f"warning: {printable(warning.detail)}")
        for rank, hit in enumerate(found.hits, start=1):
            self._print(rank, hit, named=len(names) > 1)
        for name, counts in found.facets.items():
            values = ", ".join(f"{count.value} {count.count:,}" for count in counts)
            self.stdout.write(printable(f"{name}: {values}"))
        if found.explanation is not None:
            self._print_explanation(found.explanation)
        passages = "1 passage" if len(found.hits) == 1 else f"{len(found.hits)} passages"
        by = f", the best {found.reranked} reranked by {found.reranker}" if found.reranked else ""
        self.stdout.write(f"{passages} in {found.took_ms:.0f} ms, {found.mode}{by}")

    def _print(self, rank: int, hit: Hit, *, named: bool) -> None:
        place = [f"{hit.collection}: {hit.metadata['source']}" if named else str(hit.metadata["source"])]
        if hit.metadata["page_number"] is not None:
            place.append(f"page {hit.metadata['page_number']}")
        if hit.metadata["section"]:
            place.append(hit.metadata["section"])
        self.stdout.write(f"{rank}. {hit.score:.3f}  {printable(', '.join(place))}")
        self.stdout.write("   " + printable(" ".join((hit.matched or hit.content).split())[:_SHOWN]))
        if hit.explanation is not None:
            self._print_parts(hit.explanation)
        self.stdout.write("")

    def _print_parts(self, why: HitExplanation) -> None:
        rows = [("", "rank", "score", "adds")]
        for name, leg in (("meaning", why.dense), ("words", why.lexical)):
            score = "" if leg.score is None else f"{leg.score:.4f}"
            rows.append((name, str(leg.rank or ""), score, f"{leg.share:.4f}"))
        rows.append(("together", str(why.rank), "", f"{why.score:.4f}"))
        if why.reranked is not None:
            rows.append(("reranked", str(why.reranked.rank), f"{why.reranked.score:.4f}", f"{why.reranked.final:.4f}"))
        self._print_table(rows)
        if why.terms:
            terms = ", ".join(f"{share.term} {share.share:.2f}" for share in why.terms)
            self.stdout.write(f"   words: {printable(terms)}")

    def _print_explanation(self, found: Explanation) -> None:
        for what, way in found.ways.items():
            self.stdout.write(f"{printable(what)}: {way}")
        stages = ", ".join(f"{stage.name} {stage.took_ms:.1f}" for stage in found.stages)
        self.stdout.write(f"ms: {stages}")
        rows = [
            (step.condition, "" if step.alone is None else f"{step.alone:,}", f"{step.together:,}")
            for step in found.survivors
        ]
        if rows:
            self._print_table([("condition", "passages", "left"), *rows])

    def _print_table(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Columns of one width, all but the first to the right."""
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        widths[0] = min(widths[0], shutil.get_terminal_size((_LINE, 24)).columns // 2)
        for first, *others in rows:
            cells = [printable(first)[: widths[0]].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
            self.stdout.write("   " + "  ".join(cells))
