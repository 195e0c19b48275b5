"""Vectors and packed postings, written with COPY and read with the statements in `sql/`; what is searched elsewhere."""

from __future__ import annotations

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from collections_app.models import Chunk, Collection, Generation
from connections_app.models import Connection


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


class Placement(models.Model):
    """Where a collection's vectors are searched beside this database: a collection of a connection (decision 32).

    Rows, vectors and words stay here and are the record; what stands there is a copy that follows it.
    """

    class State(models.TextChoices):
        FILLING = "filling", _("Being filled")
        SERVING = "serving", _("Searched")

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="placements", db_index=False
    )
    connection = models.ForeignKey(
        Connection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="placements"
    )
    #: The collection's name there.
    name_there = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.FILLING)
    #: Whether it was made for this, so that it goes when it is no longer needed.
    is_ours = models.BooleanField(default=False)
    #: Why the last changes could not be sent, how often in a row, and when that is tried again.
    problem = models.TextField(blank=True, default="")
    failures = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    #: When changes were sent last.
    delivered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("collection", "state"), name="placement_collection_state"),
            models.UniqueConstraint(fields=("connection", "name_there"), name="placement_connection_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name_there} at {self.connection_id}"


class Outgoing(models.Model):
    """A chunk that a placement does not have as it is here: changed, new or gone. What is sent is what is here then."""

    placement = models.ForeignKey(
        Placement, on_delete=models.DO_NOTHING, db_constraint=False, related_name="outgoing", db_index=False
    )
    #: Null: all chunks there go first.
    external_id = models.TextField(null=True)
    #: Why the other side does not take it; empty while it was not asked.
    refused = models.TextField(blank=True, default="", db_default="")

    class Meta:
        constraints = [
            # However often it changes: a row that is there already gets another key, so who sends it leaves it.
            models.UniqueConstraint(fields=("placement", "external_id"), name="outgoing_placement_chunk"),
        ]
        indexes = [
            models.Index(
                fields=("placement", "id"),
                name="outgoing_waiting",
                condition=models.Q(external_id__isnull=False, refused=""),
            ),
            models.Index(
                fields=("placement",),
                name="outgoing_special",
                condition=models.Q(external_id__isnull=True) | ~models.Q(refused=""),
            ),
        ]

    def __str__(self) -> str:
        return self.external_id or "everything"


class Leftover(models.Model):
    """A collection of a connection that was a placement of ours and is to be deleted there."""

    connection = models.ForeignKey(
        Connection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="leftovers"
    )
    name_there = models.TextField()
    failures = models.PositiveIntegerField(default=0, db_default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name_there} at {self.connection_id}"
