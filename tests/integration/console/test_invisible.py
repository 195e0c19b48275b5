"""Characters that nobody sees, or that have a name read otherwise, are shown as marks on every page."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils.html import escape

from access_app.audit import record
from access_app.models import AuditEntry
from collections_app.models import DocumentText
from tests.integration.console.conftest import Rows, make_rows, pages

pytestmark = pytest.mark.django_db

HOSTILE = "invoice\u202efdp.\u200bexe"
SHOWN = "invoice[U+202E]fdp.[U+200B]exe"


@pytest.fixture
def hostile(db: None) -> Rows:
    rows = make_rows(name=HOSTILE, text=HOSTILE)
    DocumentText.objects.create(document=rows.document, text=HOSTILE, source_digest="d")
    for row in (rows.collection, rows.chunk, rows.document, rows.key, rows.connector, rows.kept):
        record("filter.renamed", row, collection=HOSTILE, name=HOSTILE, after={HOSTILE: HOSTILE})
    return rows


def read(page: str) -> str:
    """What people read of a page: without tags, and without what may be typed over."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(textarea|script)\b.*?</\1>", "", page))


def test_every_page_shows_what_hides_in_names(root: Client, hostile: Rows) -> None:
    assert AuditEntry.objects.exists()
    found = {}
    searched = urlencode({"query": HOSTILE, "collection": HOSTILE, "missed": HOSTILE, "case": hostile.case.pk})
    for address in [*pages(hostile), f"collections/collection/query/?{searched}"]:
        page = " ".join(read(root.get(f"/admin/{address}").content.decode()).split())
        found[address] = [page[max(0, at.start() - 40) : at.start() + 20] for at in re.finditer("\u202e", page)]
    assert "\n".join(f"{address} {places}" for address, places in found.items() if places) == ""


@pytest.mark.parametrize("kind", ["chunk", "document", "job", "collection"])
def test_names_have_marks(root: Client, hostile: Rows, kind: str) -> None:
    row = getattr(hostile, kind)
    page = root.get(f"/admin/{row._meta.app_label}/{kind}/{row.pk}/change/").content.decode()
    assert SHOWN in read(page)


def test_what_is_said_after_a_change_has_marks(root: Client, hostile: Rows) -> None:
    answer = root.post(f"/admin/collections/document/{hostile.document.pk}/delete/", follow=True)
    page = read(answer.content.decode())
    assert f"&#x27;{SHOWN}&#x27; was deleted" in page
    assert "\u202e" not in page


@pytest.mark.parametrize("page", ["{}/empty", "{}/delete"])
@pytest.mark.parametrize("typed", [SHOWN, HOSTILE])
def test_a_name_is_confirmed_as_it_is_shown(root: Client, hostile: Rows, page: str, typed: str) -> None:
    address = f"/admin/collections/collection/{page.format(hostile.collection.pk)}/"
    form = root.get(address).content.decode()
    assert f'data-shown-name="{escape(SHOWN)}"' in form
    assert root.post(address, {"name": f"{typed}!"}).status_code == 200
    assert root.post(address, {"name": typed}).status_code == 302


def test_joiners_within_a_text_stay(root: Client) -> None:
    kept = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 क्\u200dष 👩\u200d👧 and a\u200cb, "
    rows = make_rows(text=f"{kept}\u2067turned\u2069")
    page = root.get(f"/admin/collections/chunk/{rows.chunk.pk}/change/").content.decode()
    assert f"{kept}[U+2067]turned[U+2069]</div>" in page
