"""Two who change one connection at once: each is told what became of it, and nothing is done twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from access_app.models import AuditEntry
from connections_app.models import Connection
from connections_app.services import change_connection, create_connection, delete_connection
from core_app.errors import Conflict, NotFound

pytestmark = pytest.mark.django_db(transaction=True)
SETTINGS = {"url": "http://127.0.0.1:9"}


def beside(first: Callable[[], object], *others: Callable[[], object]) -> list[BaseException | None]:
    """What the others raise that wait for the first one's transaction."""

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(others)) as pool:
        with transaction.atomic():
            first()
            asked: list[Future[None]] = [pool.submit(run, other) for other in others]
            _until_waiting(len(others))
        return [one.exception() for one in asked]


def _until_waiting(many: int) -> None:
    """Until so many wait for a lock of this transaction."""
    sql = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
    for _ in range(200):
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.fetchone()[0] >= many:
                return
        time.sleep(0.05)
    pytest.fail("nobody waits")


def test_two_renames_to_one_name() -> None:
    for name in ("a", "b"):
        create_connection(name=name, provider="remote", settings=SETTINGS)
    (raised,) = beside(
        lambda: change_connection(name="a", new_name="x"), lambda: change_connection(name="b", new_name="x")
    )
    assert isinstance(raised, Conflict)
    assert raised.code == "connection_exists"
    assert set(Connection.objects.values_list("name", flat=True)) == {"x", "b"}
    assert AuditEntry.objects.filter(action="connection.changed").count() == 1


def test_a_change_and_a_deletion_beside_a_deletion() -> None:
    create_connection(name="a", provider="remote", settings=SETTINGS)
    raised = beside(
        lambda: delete_connection(name="a"),
        lambda: change_connection(name="a", settings=SETTINGS),
        lambda: delete_connection(name="a"),
    )
    assert [type(one) for one in raised] == [NotFound, NotFound]
    assert AuditEntry.objects.filter(action="connection.deleted").count() == 1
    assert not AuditEntry.objects.filter(action="connection.changed").exists()
