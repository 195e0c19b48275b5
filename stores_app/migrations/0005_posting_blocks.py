"""Postings in blocks of some terms instead of a row for each term."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from struct import pack
from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from core_app.sql import migration_sql

#: As in the format of that time: a block is closed at this size.
_BLOCK_BYTES = 900
_OLD = 'SELECT segment_id, term, data FROM stores_posting ORDER BY segment_id, term COLLATE "C"'
_NEW = "INSERT INTO stores_postingblock (segment_id, first_term, data) VALUES (%s, %s, %s)"
_ROWS_AT_ONCE = 10_000
_BLOCKS_AT_ONCE = 1000


def regroup(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with connection.cursor() as write, connection.chunked_cursor() as read:
        read.execute(_OLD)
        found = iter(lambda: read.fetchmany(_ROWS_AT_ONCE), [])
        blocks = _blocks(row for some in found for row in some)
        while some := list(islice(blocks, _BLOCKS_AT_ONCE)):
            write.executemany(_NEW, some)


def _blocks(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[int, str, bytes]]:
    for segment_id, found in groupby(rows, key=lambda row: row[0]):
        gathered: list[tuple[str, bytes]] = []
        size = 0
        for _, term, data in found:
            if gathered and size + len(data) >= _BLOCK_BYTES:
                yield segment_id, gathered[0][0], _block(gathered)
                gathered, size = [], 0
            gathered.append((term, bytes(data)))
            size += len(data) + len(term) + 5
        yield segment_id, gathered[0][0], _block(gathered)


def _block(gathered: Sequence[tuple[str, bytes]]) -> bytes:
    """The parts of each term, ordinals (4 bytes each), frequencies (2), lengths (4), as parts of all terms."""
    counts = [len(data) // 10 for _, data in gathered]
    pairs = [(data, count) for (_, data), count in zip(gathered, counts, strict=True)]
    return b"".join(
        (
            pack(f"<{len(counts) + 1}I", len(counts), *counts),
            *(data[: 4 * count] for data, count in pairs),
            *(data[6 * count :] for data, count in pairs),
            *(data[4 * count : 6 * count] for data, count in pairs),
            b"\0".join(term.encode() for term, _ in gathered),
        )
    )


class Migration(migrations.Migration):
    dependencies = [("stores", "0004_retired_segments")]

    operations = [
        migrations.CreateModel(
            name="PostingBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "segment_id", "first_term", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("first_term", models.TextField(db_collation="C")),
                ("data", models.BinaryField()),
                (
                    "segment",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="stores.segment",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(migration_sql("stores_app", "0005_posting_blocks"), reverse_sql=migrations.RunSQL.noop),
        migrations.RunPython(regroup),
        migrations.DeleteModel(name="Posting"),
    ]
