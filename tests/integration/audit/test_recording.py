"""What an entry holds, and that it stands and falls with the change."""

from __future__ import annotations

import datetime
import json
import uuid
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from access_app.acting import Door, acting, current, identify
from access_app.audit import record, submitter_of
from access_app.audit_values import MOST_BYTES, MOST_CHARACTERS, bounded
from access_app.models import AuditEntry, User
from access_app.services import create_key
from collections_app.models import Collection
from collections_app.services import create_collection, delete_collection, update_metadata
from core_app.errors import InvalidInput
from ingest_app.models import Job
from tests.integration.audit.entries import entries, entry

pytestmark = pytest.mark.django_db


def test_an_entry_says_who_what_when_and_where() -> None:
    with acting(door=Door.API) as door:
        identify("app (1234)")
        made = create_collection(name="tea", metadata={"team": "kitchen"})
    assert door.name == "app (1234)"
    found = entry("collection.created")
    assert (found.actor, found.door, found.outcome) == ("app (1234)", "api", "done")
    assert (found.object_type, found.object_id) == ("collections.collection", str(made.pk))
    assert (found.object_name, found.collection) == ("tea", "tea")
    assert found.before is None
    assert found.after == {"distance": "cosine", "language": "english", "metadata": {"team": "kitchen"}}
    assert abs(found.at - made.created_at) < datetime.timedelta(minutes=1)


def test_outside_all_doors_it_is_the_command_line() -> None:
    create_collection(name="tea")
    found = entry("collection.created")
    assert found.door == Door.CLI
    assert found.actor.startswith("cli:")
    assert len(found.actor) > len("cli:")


def test_a_door_is_closed_again_and_identify_alone_opens_none() -> None:
    with acting(door=Door.API), acting(door=Door.TASK, name="inner"):
        assert str(current()) == "inner"
    assert current().door == Door.CLI
    identify("nobody")
    assert current().door == Door.CLI
    assert str(current()) != "nobody"


def test_what_is_rolled_back_leaves_no_entry() -> None:
    with transaction.atomic():
        create_collection(name="tea")
        assert entries("collection.created")
        transaction.set_rollback(True)
    assert not Collection.objects.exists()
    assert not entries("collection.created")


def test_what_is_refused_leaves_no_entry() -> None:
    create_collection(name="tea")
    with pytest.raises(InvalidInput):
        create_collection(name="cake", language="klingon")
    assert len(entries("collection.created")) == 1


def test_only_what_differs_is_kept_and_nothing_for_nothing() -> None:
    create_collection(name="tea", metadata={"a": 1, "b": {"c": 2}, "gone": True})
    update_metadata(name="tea", metadata={"a": 1, "b": {"c": 3}, "new": "x"})
    found = entry("collection.metadata_changed")
    assert found.before == {"metadata": {"b": {"c": 2}, "gone": True}}
    assert found.after == {"metadata": {"b": {"c": 3}, "new": "x"}}
    update_metadata(name="tea", metadata={"a": 1, "b": {"c": 3}, "new": "x"})
    assert len(entries("collection.metadata_changed")) == 1


def test_an_entry_is_one_statement() -> None:
    tea = create_collection(name="tea")
    with CaptureQueriesContext(connection) as captured:
        record("collection.changed", tea, before={"name": "a"}, after={"name": "b"})
    assert len(captured) == 1


def test_entries_cannot_be_changed_but_go_when_their_time_is_over() -> None:
    create_collection(name="tea")
    for change in (lambda: AuditEntry.objects.update(actor="me"), lambda: entry("collection.created").save()):
        with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            change()
    assert entry("collection.created").actor != "me"
    AuditEntry.objects.all().delete()
    assert not AuditEntry.objects.exists()


def test_an_unknown_action_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="audit_words"):
        record("collection.danced", Collection(name="tea"))


def test_the_history_outlives_what_it_is_about() -> None:
    create_collection(name="tea")
    delete_collection(name="tea")
    assert entry("collection.deleted").object_name == "tea"
    assert not Collection.objects.exists()


def test_no_secret_is_kept() -> None:
    _key, secret = create_key(name="app", verbs=["read"], collections=["*"])
    user = User.objects.create_user("jo", password="a long password 7")
    user.set_password("another password 8")
    user.save()
    everything = json.dumps([[found.before, found.after] for found in AuditEntry.objects.all()])
    for part in (secret, secret.rpartition("_")[2], "a long password", "another password", "pbkdf2", user.password):
        assert part not in everything
    assert entry("user.changed").after == {"password": "changed"}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        ({"a": 1.5, "b": True, "c": None}, {"a": 1.5, "b": True, "c": None}),
        ({"a": float("nan")}, {"a": "nan"}),
        ({"a": "x\x00y\ud800z"}, {"a": "xyz"}),
        ({"a": uuid.UUID(int=0)}, {"a": "00000000-0000-0000-0000-000000000000"}),
        ({"a": datetime.date(2026, 1, 2)}, {"a": "2026-01-02"}),
        ({"a": list(range(60))}, {"a": [*range(50), "… 10 more"]}),
        ({"a": "x" * 5000}, {"a": "x" * MOST_CHARACTERS + "… (cut: 5,000 characters)"}),
    ],
)
def test_values_are_cut_and_say_so(value: Any, kept: Any) -> None:
    assert bounded(value) == kept


@pytest.mark.parametrize(
    "value",
    [
        {str(n): "x" * 4000 for n in range(50)},
        {"a": {str(n): "ü" * 4000 for n in range(50)}},
        {f"{n}" * 3000: "x" for n in range(50)},
        {str(n): n for n in range(1_000_000, 1_020_000)},
        {"a": [[[[[[[["deep"] * 50] * 50] * 50]]]]]},
    ],
)
def test_no_entry_is_larger_than_people_read(value: Any) -> None:
    assert len(json.dumps(bounded(value))) <= MOST_BYTES


def test_who_is_behind_a_job() -> None:
    tea = create_collection(name="tea")
    job = Job.objects.create(collection=tea)
    assert submitter_of(job) is None
    with acting(door=Door.CONSOLE, name="jo"):
        record("job.submitted", job)
    with acting(door=Door.CONSOLE, name="kim"):
        record("job.cancelled", job)
    assert submitter_of(Job(pk=job.pk)) == "jo"
