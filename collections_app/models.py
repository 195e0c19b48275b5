"""Collections, documents and chunks as rows.

Foreign keys act in SQL (`ON DELETE CASCADE NOT DEFERRABLE`, written in the migrations): Django's own
cascade collects rows in Python, and its deferred constraints report their errors only at COMMIT.
"""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _


class Distance(models.TextChoices):
    """How two vectors are compared."""

    COSINE = "cosine", _("Cosine")
    L2 = "l2", _("Euclidean")
    IP = "ip", _("Inner product")


class Collection(models.Model):
    """A named set of chunks with one embedding model, one distance and its own metadata."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.TextField(unique=True)
    metadata = models.JSONField(default=dict, blank=True)
    store = models.CharField(max_length=100)
    distance = models.CharField(max_length=8, choices=Distance.choices, default=Distance.COSINE)
    #: Snowball's name of the language whose stems and stop words the word index uses.
    language = models.CharField(max_length=32, default="english")
    #: The language that a job indexes its words in anew, until it is the one above; empty where none was asked for.
    wanted_language = models.CharField(max_length=32, blank=True, default="", db_default="")
    #: The connection that embeds its texts and the queries for it; empty means the server's own embedder.
    embedding_connection = models.CharField(max_length=100, blank=True, default="", db_default="")
    #: How texts are cut; empty means the server's settings. Keys: strategy, size, overlap, parent_size.
    chunking = models.JSONField(default=dict, blank=True)
    #: How it is searched; what is missing is left to the mode. Keys: mode, fusion, lexical_weight, min_score.
    search = models.JSONField(default=dict, blank=True)
    #: BM25's k1 and b; null means the server's settings.
    k1 = models.FloatField(null=True, blank=True)
    b = models.FloatField(null=True, blank=True)
    #: Moves with every write, so that whatever is cached for a collection can key on it.
    version = models.BigIntegerField(default=1)
    #: The vectors that are searched; null until the first one is written.
    active_generation = models.ForeignKey(
        "Generation", null=True, blank=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Generation(models.Model):
    """One set of vectors of a collection: a new embedding model is a new generation."""

    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        BUILDING = "building", _("Building")
        RETIRED = "retired", _("Retired")

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="generations"
    )
    #: Null where the vectors come from outside: the server then cannot embed a query for them.
    embedding_connection = models.CharField(max_length=100, null=True, blank=True)
    embedding_model = models.TextField(null=True, blank=True)
    dimension = models.PositiveIntegerField()
    distance = models.CharField(max_length=8, choices=Distance.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.embedding_model or 'given vectors'} ({self.dimension})"


class Document(models.Model):
    """One source in a collection: a file, a page, a pasted text."""

    class State(models.TextChoices):
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="documents"
    )
    source = models.TextField()
    title = models.TextField(blank=True)
    #: SHA-256 over the content and everything that decides its chunks, in hexadecimal.
    content_hash = models.CharField(max_length=64, blank=True)
    media_type = models.CharField(max_length=255, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.READY)
    metadata = models.JSONField(default=dict, blank=True)
    chunk_count = models.PositiveIntegerField(default=0)
    #: How its passages were cut, e.g. `structure 200 30`; empty where an older version did.
    cut_by = models.CharField(max_length=64, blank=True)
    #: The folder or feed it was synced from; empty where it was sent by itself.
    origin = models.TextField(blank=True)
    #: When the version that is stored was sent: an older job that ends later must not bring its own back.
    submitted_at = models.DateTimeField(null=True, blank=True)
    #: Why the last attempt to index it failed; a document that was ready before stays searchable.
    error = models.TextField(blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("collection", "source"), name="document_collection_source"),
        ]
        indexes = [
            # The documents of a collection by key, and the keyset pages of its list.
            models.Index(fields=("collection", "id"), name="document_collection_id"),
        ]

    def __str__(self) -> str:
        return self.source


class DocumentText(models.Model):
    """What was read out of a document's source, so that passages can be cut anew and be shown where they stand."""

    document = models.OneToOneField(
        Document, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="extracted"
    )
    text = models.TextField()
    #: Headings, pages, rows and properties, with offsets in characters of the text.
    outline = models.JSONField(default=dict)
    #: SHA-256 over the source's bytes and the name they were read by, in hexadecimal.
    source_digest = models.CharField(max_length=64)
    #: The title that was sent with the source; empty where it came from the content.
    given_title = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"text of document {self.document_id}"


class Alias(models.Model):
    """Another name under which a collection is found, such as the one it had before it was renamed."""

    name = models.TextField(unique=True)
    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="alias_rows"
    )

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class NamedFilter(models.Model):
    """A filter that is kept with a collection, so that searches and people can call it by its name."""

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="named_filters", db_index=False
    )
    name = models.TextField()
    #: As it was sent; never empty. What it means is read out of it at each use.
    where = models.JSONField()
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=("collection", "name"), name="namedfilter_collection_name"),
        ]

    def __str__(self) -> str:
        return self.name


class NextPosition(models.Func):
    """Larger than any position or key given before."""

    template = "nextval('collections_chunk_id_seq')"
    output_field = models.BigIntegerField()


class Chunk(models.Model):
    """One retrievable piece of text.

    The key is never reused and never leaves the server: replacing is delete and insert. The external
    id does; for ingested chunks it is the same after the source was ingested again.
    """

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="chunks", db_index=False
    )
    document = models.ForeignKey(
        Document,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="chunks",
        db_index=False,
    )
    external_id = models.TextField()
    text = models.TextField()
    metadata = models.JSONField(default=dict, blank=True)
    section_path = ArrayField(models.TextField(), default=list, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    #: Half-open range of characters in the document's extracted text.
    start_offset = models.PositiveIntegerField(null=True, blank=True)
    end_offset = models.PositiveIntegerField(null=True, blank=True)
    #: The range around it that a search shows in its place, shared with its neighbours; null where it is shown itself.
    parent_start = models.IntegerField(null=True, blank=True)
    parent_end = models.IntegerField(null=True, blank=True)
    #: Place among the chunks of its document, from 0.
    ordinal = models.PositiveIntegerField(null=True, blank=True)
    #: Orders the chunks of a collection as they were first added; what replaces a chunk takes its place.
    position = models.BigIntegerField(db_default=NextPosition())
    #: Since when no search finds it; null where searches do. Its vector is kept as a `KeptVector`.
    disabled_at = models.DateTimeField(null=True, blank=True)
    #: When somebody changed its text or metadata; null where it is as it came.
    edited_at = models.DateTimeField(null=True, blank=True)
    #: What an ingested chunk said before its text was changed; null where it was not.
    original_text = models.TextField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("collection", "external_id"), name="chunk_collection_external_id"),
            # Here and not in the fields, so that the migration could add it without reading every row.
            models.CheckConstraint(
                name="chunk_parent",
                condition=models.Q(parent_start__isnull=True, parent_end__isnull=True)
                | models.Q(
                    parent_start__isnull=False,
                    parent_end__isnull=False,
                    parent_start__gte=0,
                    parent_end__gt=models.F("parent_start"),
                ),
            ),
        ]
        indexes = [
            # The chunks of a collection by key, e.g. a sample of them.
            models.Index(fields=("collection", "id"), name="chunk_collection_id"),
            # Listing a collection in insertion order, and its keyset pages.
            models.Index(fields=("collection", "position"), name="chunk_collection_position"),
            # Reading or replacing one document, in order; also serves the cascade from documents.
            models.Index(fields=("document", "ordinal"), name="chunk_document_ordinal"),
            # Containment filters on metadata.
            GinIndex(fields=("metadata",), name="chunk_metadata", opclasses=("jsonb_path_ops",)),
            # Few rows each, whatever the collection holds: what was changed by hand.
            models.Index(
                fields=("document",),
                name="chunk_document_marked",
                condition=models.Q(disabled_at__isnull=False) | models.Q(edited_at__isnull=False),
            ),
            models.Index(
                fields=("collection", "id"), name="chunk_disabled", condition=models.Q(disabled_at__isnull=False)
            ),
            models.Index(fields=("collection", "id"), name="chunk_edited", condition=models.Q(edited_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def audit_key(self) -> int:
        """The same as long as the chunk is there, whatever row it stands in: an edit gives it a new key."""
        return self.position


class KeptVector(models.Model):
    """The vector of a chunk that is disabled, so that it can be put back as it was without asking a model."""

    chunk = models.OneToOneField(
        Chunk, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="kept_vector"
    )
    #: One number in `numbers`, little-endian.
    NUMBER = "<f4"

    #: It fits the vectors of this generation only.
    generation = models.ForeignKey(Generation, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    numbers = models.BinaryField()

    def __str__(self) -> str:
        return f"vector of chunk {self.chunk_id}"
