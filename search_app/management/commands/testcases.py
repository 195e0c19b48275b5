"""`manage.py testcases`: list, run, export and import the test cases of a collection."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.names import printable
from search_app.testcase_files import export_cases, import_cases
from search_app.testcases import list_cases
from search_app.testruns import RunReport, latest_runs, run_cases

_BY = "command line"


class Command(BaseCommand):
    help = "List, run, export and import the test cases of a collection."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="names, questions and what the last run found")
        running = actions.add_parser("run", help="search for each, and say what is better or worse")
        running.add_argument("--case", action="append", help="only this one; may be repeated")
        running.add_argument(
            "--strict", action="store_true", help="exit with 1 when a case finds less than expected, or fails"
        )
        exporting = actions.add_parser("export", help="write them as lines of JSON")
        exporting.add_argument("--file", type=Path, help="where to (default: standard output)")
        importing = actions.add_parser("import", help="read lines of JSON")
        importing.add_argument("--file", type=Path, help="where from (default: standard input)")
        importing.add_argument("--replace", action="store_true", help="those of the same name are replaced")
        for action in (listing, running, exporting, importing):
            action.add_argument("collection")

    def handle(self, *args: Any, action: str, collection: str, **given: Any) -> None:
        # What a server logs of each search is in the way of its answer here.
        logging.disable(logging.INFO)
        try:
            getattr(self, f"_{action}")(collection, **given)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"The file cannot be used: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from None
        finally:
            logging.disable(logging.NOTSET)

    def _list(self, collection: str, **_: Any) -> None:
        found = list(list_cases(collection_name=collection))
        runs = latest_runs(case_ids=[case.pk for case in found])
        for case in found:
            last = next(iter(runs.get(case.pk, ())), None)
            value = "not run" if last is None else "failed" if last.error else f"nDCG@10 {last.ndcg_at_10:.3f}"
            self.stdout.write(f"{printable(case.name)}: {printable(case.query or case.topic)} ({value})")
        self.stdout.write(f"Test cases: {len(found)}.")

    def _run(self, collection: str, *, case: list[str] | None, strict: bool, **_: Any) -> None:
        reports = []
        for report in run_cases(collection_name=collection, names=case, ran_by=_BY, most=None):
            self._print(report)
            reports.append(report)
        bad = sum(report.is_below_expected for report in reports)
        worse = sum(report.change == "worse" for report in reports)
        better = sum(report.change == "better" for report in reports)
        self.stdout.write(
            f"Test cases: {len(reports)}. Better than in the run before: {better}, worse: {worse}. "
            f"Below what was expected or failed: {bad}."
        )
        if strict and bad:
            sys.exit(1)

    def _print(self, report: RunReport) -> None:
        run = report.run
        if run.error:
            self.stdout.write(f"failed  {printable(report.case.name)}: {printable(report.detail)}")
            return
        rank = "none found" if run.first_rank is None else f"first relevant at {run.first_rank}"
        expected = "" if report.case.expected is None else f", expected {report.case.expected:.3f}"
        low = ", BELOW EXPECTED" if report.is_below_expected else ""
        self.stdout.write(
            f"{report.change:<7} {printable(report.case.name)}: {rank}, nDCG@10 {run.ndcg_at_10:.3f}{expected}{low}"
        )
        if report.detail:
            self.stdout.write(f"        {printable(report.detail)}")

    def _export(self, collection: str, *, file: Path | None, **_: Any) -> None:
        lines = list(export_cases(collection_name=collection))
        if file is None:
            for line in lines:
                self.stdout.write(line)
            return
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.stdout.write(f"Test cases written: {len(lines)}.")

    def _import(self, collection: str, *, file: Path | None, replace: bool, **_: Any) -> None:
        text = sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
        # Not `splitlines`, which would cut a text at the separators that JSON leaves as they are.
        lines = text.split("\n")
        count = sum(1 for _ in import_cases(collection_name=collection, lines=lines, saved_by=_BY, replace=replace))
        self.stdout.write(f"Test cases saved: {count}.")
