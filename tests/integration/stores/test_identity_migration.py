"""0009 on a database with data in it."""

from __future__ import annotations

from hashlib import sha256

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from stores_app.models import Segment
from tests.integration.stores.shelf import Shelf

BEFORE = ("stores", "0007_exact_segment_length")
MIGRATION = ("stores", "0009_segment_identity")


@pytest.mark.django_db
def test_segments_that_were_there_are_told_apart_and_found_as_before(shelf: Shelf) -> None:
    shelf.add({"a": "alpha beta", "b": "alpha"})
    shelf.add({"c": "alpha"})
    shelf.remove("a")
    before = shelf.words("alpha")
    old = set(Segment.objects.values_list("identity", flat=True))
    loader = MigrationLoader(connection)
    migration = loader.graph.nodes[MIGRATION]
    with connection.schema_editor() as editor:
        migration.unapply(loader.project_state(BEFORE), editor)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM stores_segment")
        assert {"identity", "buried"}.isdisjoint(column.name for column in cursor.description)
    with connection.schema_editor() as editor:
        migration.apply(loader.project_state(BEFORE), editor)
    new = Segment.objects.all()
    assert len({segment.identity for segment in new} | old) == 4
    assert all(bytes(segment.buried) == sha256(bytes(segment.dead)).digest() for segment in new)
    assert shelf.words("alpha") == before
