"""The audit log and the histories of rows, as pages."""

from __future__ import annotations

import datetime
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access_app.models import AuditEntry
from collections_app.models import Collection
from collections_app.services import create_collection, update_metadata
from console_app.audit_pages import PER_PAGE, changes
from console_app.differences import MOST_COMPARED_WORDS
from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db

LOG = "/admin/access/auditentry/"


def add(
    count: int, *, collection: str = "tea", actor: str = "kim", action: str = "chunks.added", days: int = 0
) -> None:
    """Entries of one moment, as those of one transaction are nearly."""
    at = timezone.now() - datetime.timedelta(days=days)
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=at,
            actor=actor,
            door="api",
            action=action,
            object_type="collections.collection",
            object_id="7",
            object_name=f"mark-{collection}-{number}.",
            collection=collection,
        )
        for number in range(count)
    )


def marks(client: Client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == 200
    return re.findall(r"mark-\w*-\d+\.", answer.content.decode())


@pytest.fixture(autouse=True)
def _nothing_before(root: Client) -> None:
    AuditEntry.objects.all().delete()


def test_pages_follow_each_other_without_a_gap(root: Client) -> None:
    count = 2 * PER_PAGE + 3
    add(count, days=1)
    found, address = marks(root, LOG), LOG
    assert len(found) == PER_PAGE
    while match := re.search(r'href="(\?[^"]*before=\d+)"', root.get(address).content.decode()):
        address = LOG + match[1].replace("&amp;", "&")
        found += marks(root, address)
    assert found == [f"mark-tea-{number}." for number in reversed(range(count))]


def test_a_page_counts_nothing_and_costs_the_same_for_many_entries(root: Client) -> None:
    queries = []
    for count in (2, 60):
        add(count)
        with CaptureQueriesContext(connection) as captured:
            root.get(LOG)
        queries.append(len(captured))
        assert not any("COUNT(" in query["sql"] or "OFFSET" in query["sql"] for query in captured)
    assert queries[0] == queries[1] < 15


def test_it_is_narrowed_by_who_what_where_and_when(root: Client) -> None:
    for name in ("tea", "cake"):
        create_collection(name=name)
    AuditEntry.objects.all().delete()
    add(1, collection="tea", actor="kim", days=10)
    add(1, collection="cake", actor="jo (key)", action="chunks.deleted", days=2)
    day = (timezone.now() - datetime.timedelta(days=5)).date().isoformat()
    tea, cake = ["mark-tea-0."], ["mark-cake-0."]
    for query, expected in {
        "": cake + tea,
        "actor=kim": tea,
        "actor=jo+%28key%29": cake,
        "action=chunks.deleted": cake,
        "collection=tea": tea,
        f"since={day}": cake,
        f"until={day}": tea,
        "about=collections.collection:7": cake + tea,
        "about=collections.collection:8": [],
        "actor=kim&collection=cake": [],
        "collection=gone": [],
        "action=unknown": [],
        "since=nonsense": [],
        "before=nonsense": cake + tea,
        "before=999999999999": cake + tea,
    }.items():
        assert marks(root, f"{LOG}?{query}") == expected, query


def test_only_entries_of_collections_that_one_reaches_are_shown(login: Login) -> None:
    add(1, collection="team_tea")
    add(1, collection="cake")
    add(1, collection="")
    client = login("access.view_auditentry", collections=["team_*"])
    assert marks(client, LOG) == ["mark-team_tea-0."]
    assert marks(client, f"{LOG}?collection=cake") == []
    assert marks(client, f"{LOG}?about=collections.collection:7") == ["mark-team_tea-0."]
    assert len(marks(login("access.view_auditentry"), LOG)) == 3


def test_a_history_is_the_row_s_own_and_says_what_was_there(root: Client, rows: Rows) -> None:
    other = create_collection(name="other")
    update_metadata(name="other", metadata={"x": "of the other"})
    update_metadata(name="handbook", metadata={"team": "<b>kitchen</b>"})
    page = root.get(f"/admin/collections/collection/{rows.collection.pk}/history/").content.decode()
    assert "&lt;b&gt;kitchen&lt;/b&gt;" in page
    assert "of the other" not in page
    assert other.pk != rows.collection.pk
    for address in (
        f"/admin/collections/collection/{rows.collection.pk}/change/",
        f"/admin/ingest/job/{rows.job.pk}/change/",
    ):
        assert address.replace("change", "history") in root.get(address).content.decode()
    assert root.get("/admin/collections/collection/999999/history/").status_code == 404


def test_users_and_groups_have_histories_too(root: Client, login: Login) -> None:
    page = root.get("/admin/access/user/").content.decode()
    key = re.findall(r"/admin/access/user/(\d+)/change/", page)[0]
    root.post(f"/admin/access/user/{key}/password/", {"password1": "another long 8", "password2": "another long 8"})
    assert "User changed" in root.get(f"/admin/access/user/{key}/history/").content.decode()
    assert login("access.view_auditentry").get(f"/admin/access/user/{key}/history/").status_code == 403
    assert login("access.view_user").get(f"/admin/access/user/{key}/history/").status_code == 403
    assert (
        login("access.view_user", "access.view_auditentry").get(f"/admin/access/user/{key}/history/").status_code == 200
    )


def test_entries_are_neither_made_nor_deleted_here(root: Client) -> None:
    add(1)
    key = AuditEntry.objects.get(action="chunks.added").pk
    for path in ("add/", f"{key}/change/", f"{key}/delete/"):
        assert root.get(f"{LOG}{path}").status_code == 403, path
        assert root.post(f"{LOG}{path}", {"post": "yes"}).status_code == 403, path
    assert AuditEntry.objects.filter(pk=key).exists()
    assert not Collection.objects.exists()


def test_of_two_texts_what_both_share_stands_apart() -> None:
    [change] = changes({"text": "the red tea pot is hot"}, {"text": "the blue tea cup is hot"})
    assert change.pieces == [
        ("same", "the "),
        ("old", "red "),
        ("new", "blue "),
        ("same", "tea "),
        ("old", "pot "),
        ("new", "cup "),
        ("same", "is hot"),
    ]
    [change] = changes({"text": "a a"}, {"text": "b"})
    assert (change.pieces, change.is_whole) == ([("old", "a a"), ("new", "b")], True)


def test_what_two_long_texts_share_is_shortened_to_what_stands_beside_a_difference() -> None:
    words = " ".join(f"word{n}" for n in range(60))
    [change] = changes({"text": f"{words} old {words} old {words}"}, {"text": f"{words} new {words} new {words}"})
    head, middle, tail = [piece for kind, piece in change.pieces if kind == "same"]
    assert head.startswith(" … ")
    assert head.endswith("word59 ")
    assert middle.startswith("word0 ")
    assert " … " in middle
    assert middle.endswith("word59 ")
    assert tail.startswith("word0 ")
    assert tail.endswith(" … ")
    assert all(len(piece) < 130 for piece in (head, middle, tail))


def test_texts_that_are_too_long_to_be_compared_are_shown_whole() -> None:
    old, new = "old " * (MOST_COMPARED_WORDS + 1), "new " * (MOST_COMPARED_WORDS + 1)
    [change] = changes({"text": old}, {"text": new})
    assert change.pieces == [("old", old), ("new", new)]


def test_values_within_values_have_paths_and_what_was_empty_is_left_out() -> None:
    found = changes({"metadata": {}}, {"metadata": {"a": {"b": 1}, "c": ["x", "y"], "d": None}})
    assert [(one.key, one.pieces) for one in found] == [
        ("metadata > a > b", [("new", "1")]),
        ("metadata > c", [("new", "x, y")]),
    ]
