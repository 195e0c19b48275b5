"""How many statements each page takes, with several rows in each list: no more than is written down, never over 40.

After a change that is meant: `RAGSITE_WRITE_QUERY_COUNTS=1 pytest tests/integration/console/test_query_counts.py`
writes the numbers anew; they belong to the commit.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.integration.console.conftest import Rows, make_rows, pages
from tests.integration.search.asked import filled

PLAYGROUND = "collections/collection/query/"

pytestmark = pytest.mark.django_db

BASELINE = Path(__file__).with_name("query_counts.json")
MOST = 40
#: Keys of rows: another one in each run.
KEY = re.compile(r"(?<=[/=])(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27})(?=/|$)")


def counted(client: Client, rows: Rows) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in ["", *pages(rows)]:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"/admin/{path}").status_code < 400, path
        found[f"/admin/{KEY.sub('ID', path)}"] = len(captured)
    return found


def asked(client: Client, rows: Rows) -> dict[str, int]:
    """What the playground takes: its searches, in one collection and in three."""
    texts = {"one": "The fox hunts at night.", "two": "An oak stands in the wood."}
    for name in ("foxes", "oaks"):
        filled(name, texts)
    one, three = [rows.collection.name], [rows.collection.name, "foxes", "oaks"]
    searches: dict[str, dict[str, Any]] = {
        "a query": {"collection": one},
        "compared": {"collection": one, "compare": "on"},
        "compared in three collections": {"collection": three, "compare": "on"},
        "compared in three collections, with a missed source": {"collection": three, "compare": "on", "missed": "one"},
    }
    found: dict[str, int] = {}
    for name, data in searches.items():
        for _ in range(2):
            with CaptureQueriesContext(connection) as captured:
                assert client.get(f"/admin/{PLAYGROUND}", {"query": "fox night", **data}).status_code == 200
        # The transaction that a test runs in makes savepoints of what would be transactions.
        found[f"/admin/{PLAYGROUND} {name}"] = sum('SAVEPOINT "' not in query["sql"] for query in captured)
    return found


def test_no_page_takes_more_statements_than_written_down(root: Client, rows: Rows) -> None:
    for number in range(3):  # a list whose rows are looked up one by one takes more than it did with one
        make_rows(name=f"more{number}", text=f"Swans eat {number} plants.")
    counted(root, rows)  # what is remembered by a process, such as content types, is asked for once
    found = counted(root, rows) | asked(root, rows)
    if os.environ.get("RAGSITE_WRITE_QUERY_COUNTS"):
        BASELINE.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")
    baseline = json.loads(BASELINE.read_text())
    assert set(found) == set(baseline), "Pages came or went: write the numbers anew (see above)."
    assert {page: number for page, number in found.items() if number > baseline[page]} == {}
    assert {page: number for page, number in found.items() if number > MOST} == {}
