"""Vectors and packed postings. Rows are written with COPY and read with the statements in `sql/`."""

from __future__ import annotations

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from pgvector.django import VectorField

from collections_app.models import Chunk, Collection, Generation


class Vector(models.Model):
    """The embedding of one chunk in one generation.

    Narrow on purpose: beside the text, vectors are moved out of line and an exact scan of 100,000
    takes six times as long. The migration sets STORAGE MAIN for the same reason.
    """

    pk = models.CompositePrimaryKey("generation_id", "chunk_id")
    generation = models.ForeignKey(
        Generation, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    chunk = models.ForeignKey(Chunk, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    embedding = VectorField()


class Segment(models.Model):
    """An immutable part of a collection's word index; only its tombstones change.

    `chunk_ids` (little-endian int64) and `lengths` (uint32, terms of each chunk) are indexed by the
    ordinal that postings refer to. `dead` is a bitmap of ordinals, empty while nothing was deleted.
    """

    collection = models.ForeignKey(Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    #: Of its words. While a collection changes its language it has segments of both, and searches use those of one.
    language = models.CharField(max_length=32, db_default="")
    #: Which version of the analysis gave its terms (`stores_app.lexical.analysis`).
    analysis = models.PositiveSmallIntegerField(db_default=1)
    size = models.PositiveIntegerField()
    #: Chunks that are not deleted, and the sum of their lengths: N and the total length of BM25.
    live = models.PositiveIntegerField()
    live_length = models.BigIntegerField()
    #: The sum of all lengths, of deleted chunks too: what has to be read to write the segment anew.
    length = models.BigIntegerField(default=0, db_default=0)
    first_chunk_id = models.BigIntegerField()
    last_chunk_id = models.BigIntegerField()
    chunk_ids = models.BinaryField()
    lengths = models.BinaryField()
    dead = models.BinaryField(default=b"")
    #: Of a collection that was emptied, or has another language by now: no part of its index any more, but its postings
    #: are not deleted yet.
    retired = models.BooleanField(default=False, db_default=False)
    #: What is remembered of the segment is found by: no other has it, not even one with the same id after the database
    #: was restored from a backup. Together with the digest of the tombstones it says all that the segment holds.
    identity = models.UUIDField(db_default=RandomUUID(), editable=False)
    buried = models.GeneratedField(
        expression=models.Func("dead", function="sha256"), output_field=models.BinaryField(), db_persist=True
    )


class PostingBlock(models.Model):
    """Where some terms occur in one segment (`stores_app.lexical.blocks`); in the order of their bytes."""

    pk = models.CompositePrimaryKey("segment_id", "first_term")
    segment = models.ForeignKey(
        Segment, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    first_term = models.TextField(db_collation="C")
    data = models.BinaryField()
