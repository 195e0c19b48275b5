"""0007 on a database with data in it."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from stores_app.models import Segment
from tests.integration.stores.shelf import Shelf

migration = import_module("stores_app.migrations.0007_exact_segment_length")


@pytest.mark.django_db
def test_what_was_estimated_becomes_exact(shelf: Shelf) -> None:
    shelf.add({"a": "alpha beta", "b": "gamma gamma zeta"})
    exact = Segment.objects.get().length
    assert exact == 5
    Segment.objects.update(length=17)
    with connection.schema_editor() as editor:
        migration.count_exactly(apps, editor)
    assert Segment.objects.get().length == exact
