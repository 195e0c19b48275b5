"""0005 on a database with data in it."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from stores_app import segments
from stores_app.lexical.blocks import _Block
from stores_app.lexical.memory import Memory
from stores_app.models import PostingBlock
from tests.integration.stores.shelf import Shelf, new_shelf
from tests.unit.stores.test_posting_migration import old_row

migration = import_module("stores_app.migrations.0005_posting_blocks")

OLD_TABLE = "CREATE TABLE stores_posting (collection_id bigint, term text, segment_id bigint, data bytea)"


@pytest.mark.django_db
def test_words_are_found_as_before(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "_ROWS_AT_ONCE", 3)
    monkeypatch.setattr(migration, "_BLOCKS_AT_ONCE", 1)
    # Nobody searches while segments are written anew in place.
    monkeypatch.setattr(segments, "memory", lambda: Memory(limit=0))
    other = new_shelf()
    other.add({"theirs": "alpha"})
    shelf.add({"a": "alpha beta", "b": "beta gamma gamma \u00e9mile Zebra"})
    before = [shelf.words(word) for word in ("alpha", "beta", "gamma", "\u00e9mile", "zebra", "absent")]
    old = []
    for block in PostingBlock.objects.all():
        found = _Block(bytes(block.data))
        start = 0
        for name, count in zip(found.names, found.counts, strict=True):
            part = found.all.between(start, start + count)
            places = {
                ordinal: (frequency, length)
                for ordinal, frequency, length in zip(
                    part.ordinals.tolist(), part.frequencies.tolist(), part.lengths.tolist(), strict=True
                )
            }
            old.append(old_row(block.segment_id, name.decode(), places))
            start += count
    PostingBlock.objects.all().delete()
    assert shelf.words("alpha") == []
    with connection.cursor() as cursor:
        cursor.execute(OLD_TABLE)
        cursor.executemany(
            "INSERT INTO stores_posting (collection_id, segment_id, term, data) VALUES (1, %s, %s, %s)",
            [(segment_id, term, bytes(data)) for segment_id, term, data in reversed(old)],
        )
    with connection.schema_editor() as editor:
        migration.regroup(apps, editor)
    assert [shelf.words(word) for word in ("alpha", "beta", "gamma", "\u00e9mile", "zebra", "absent")] == before
    assert [name for name, _ in other.words("alpha")] == ["theirs"]
