"""Jobs and their items: the truth about work, kept where the results are kept."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from collections_app.models import Collection


class Connector(models.Model):
    """A place that a collection is kept in step with: a folder, a git repository, a list of addresses.

    When it is read next stands here, so neither a restart nor a lost message forgets it.
    """

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Folder on the server")
        GIT = "git", _("Git repository")
        URLS = "urls", _("List of addresses")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="connectors"
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    #: The folder's path or the repository's URL; empty for a list of addresses.
    location = models.TextField(blank=True)
    #: Of a repository; empty means its own default.
    branch = models.TextField(blank=True)
    urls = models.JSONField(default=list, blank=True)
    #: Put before the names of the files, which are the sources of their documents.
    prefix = models.TextField(blank=True)
    #: Given to every chunk.
    metadata = models.JSONField(default=dict, blank=True)
    #: Whether documents go whose file or address is gone.
    remove_vanished = models.BooleanField(default=False)
    #: Null means only when asked.
    every_seconds = models.PositiveIntegerField(null=True, blank=True)
    next_run_at = models.DateTimeField(null=True, blank=True, db_index=True)
    #: Marks the documents that came from it.
    origin = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = [models.UniqueConstraint(fields=("collection", "origin"), name="connector_origin")]

    def __str__(self) -> str:
        if self.location:
            return f"{self.location}#{self.branch}" if self.branch else self.location
        return ngettext("%(count)s address", "%(count)s addresses", len(self.urls)) % {"count": len(self.urls)}


class Job(models.Model):
    """Work that outlives a request. Whoever holds the unexpired lease works on it, nobody else.

    Jobs of the kinds in `WITH_ITEMS` have items, and their numbers are counted from them; the other kinds
    have none, and what there is to say of them stands in the job itself.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Succeeded")
        PARTIAL = "partial", _("Partly failed")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    class Kind(models.TextChoices):
        INGEST = "ingest", _("Ingest")
        SYNC = "sync", _("Sync")
        RECHUNK = "rechunk", _("Cut anew")
        REWORD = "reword", _("Index words")
        EMPTY = "empty", _("Empty")
        INDEX = "index", _("Vector index")
        RECLAIM = "reclaim", _("Reclaim space")
        IMPORT = "import", _("Import")
        COPY = "copy", _("Copy")
        MOVE = "move", _("Move")

    WITH_ITEMS = (Kind.INGEST, Kind.SYNC, Kind.RECHUNK)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.INGEST)
    #: Null where the job is about the whole server.
    collection = models.ForeignKey(
        Collection, null=True, blank=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="jobs"
    )
    #: What a job of the kind `sync` reads; null for the others.
    connector = models.ForeignKey(
        Connector,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="jobs",
        db_index=False,
    )
    #: It only says what would be done.
    dry_run = models.BooleanField(default=False, db_default=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    #: Names the holder; a worker that lost its lease cannot commit under a token that has changed.
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    #: How often somebody began on it, clean stops not counted. Items have numbers of their own.
    attempts = models.PositiveIntegerField(default=0)
    #: Nobody works on it before; null means at once.
    next_try_at = models.DateTimeField(null=True, blank=True)
    #: Asked for once more while it ran: it starts anew instead of ending.
    again = models.BooleanField(default=False)
    #: The collection's version when it was first worked on; null until then.
    seen_version = models.BigIntegerField(null=True, blank=True)
    #: What is being done, in words, and how far it is; for jobs without items.
    step = models.TextField(blank=True)
    total = models.BigIntegerField(default=0)
    done = models.BigIntegerField(default=0)
    #: What was asked for, by name, where the kind alone does not say it.
    options = models.JSONField(null=True, blank=True)
    #: What came of it, by name; null until then.
    result = models.JSONField(null=True, blank=True)
    #: Why it failed as a whole.
    error = models.TextField(blank=True)
    code = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            # Two who plan at the same time make one job of it.
            models.UniqueConstraint(
                fields=("collection",),
                name="job_one_index",
                condition=models.Q(kind="index", finished_at__isnull=True),
            ),
            models.UniqueConstraint(
                fields=("collection",),
                name="job_one_rechunk",
                condition=models.Q(kind="rechunk", finished_at__isnull=True),
            ),
            models.UniqueConstraint(
                fields=("collection",),
                name="job_one_reword",
                condition=models.Q(kind="reword", finished_at__isnull=True),
            ),
            models.UniqueConstraint(
                fields=("collection",),
                name="job_one_move",
                condition=models.Q(kind="move", finished_at__isnull=True),
            ),
            models.UniqueConstraint(
                fields=("connector",), name="job_one_sync", condition=models.Q(kind="sync", finished_at__isnull=True)
            ),
            models.UniqueConstraint(
                fields=("kind",), name="job_one_reclaim", condition=models.Q(kind="reclaim", finished_at__isnull=True)
            ),
            models.UniqueConstraint(
                fields=("collection",),
                name="job_one_import",
                condition=models.Q(kind="import", finished_at__isnull=True),
            ),
        ]
        indexes = [
            models.Index(fields=("-created_at", "-id"), name="job_newest_first"),
            # What a connector did last; also serves the foreign key.
            models.Index(fields=("connector", "-created_at"), name="job_of_connector"),
            # What the reaper looks at: few rows, whatever the history.
            models.Index(
                fields=("lease_expires_at",), name="job_unfinished", condition=models.Q(finished_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_fetch(self) -> bool:
        """Whether it is an import that reads from a connection and not from a file."""
        return self.kind == Job.Kind.IMPORT and "service" in (self.options or {})

    @property
    def has_items(self) -> bool:
        """Whether its numbers are those of its items."""
        return self.kind in self.WITH_ITEMS

    @property
    def collection_name(self) -> str | None:
        """The collection it is about, where it is about one."""
        return self.collection.name if self.collection is not None else None


#: The code of an archive's item once its files are items themselves.
UNPACKED = "unpacked"


class Item(models.Model):
    """One source of a job, with its own outcome."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Succeeded")
        SKIPPED = "skipped", _("Unchanged")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    job = models.ForeignKey(Job, on_delete=models.DO_NOTHING, db_constraint=False, related_name="items", db_index=False)
    #: Place in the request, from 0.
    ordinal = models.PositiveIntegerField()
    source = models.TextField()
    #: Given by the caller; empty means: take it from the content.
    title = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    #: The folder or feed it was synced from; empty where it was sent by itself.
    origin = models.TextField(blank=True)
    #: How many archives it was taken out of.
    depth = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    #: It is not tried before; null means at once.
    next_try_at = models.DateTimeField(null=True, blank=True)
    #: When the last attempt began; null before the first, and where a version that did not keep it made the row.
    started_at = models.DateTimeField(null=True, blank=True)
    #: When it got its outcome; null until then.
    finished_at = models.DateTimeField(null=True, blank=True)
    chunks = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    code = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("ordinal",)
        constraints = [models.UniqueConstraint(fields=("job", "ordinal"), name="item_job_ordinal")]
        indexes = [models.Index(fields=("job", "state", "ordinal"), name="item_job_state")]

    def __str__(self) -> str:
        return self.source


class Payload(models.Model):
    """The bytes of an item until they are indexed, in the database so that any worker finds them."""

    item = models.OneToOneField(
        Item, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="payload"
    )
    #: True where the content is UTF-8 text that was sent as such and needs no parser to be told apart.
    is_text = models.BooleanField(default=False)
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"payload of item {self.item_id}"


class UploadPart(models.Model):
    """A piece of the file that a job of the kind `import` reads, in the database so that any worker finds it.

    All pieces but the last are of one size. They go when the job ends.
    """

    job = models.ForeignKey(Job, on_delete=models.DO_NOTHING, db_constraint=False, related_name="parts", db_index=False)
    #: Place in the file, from 0.
    ordinal = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ("ordinal",)
        constraints = [models.UniqueConstraint(fields=("job", "ordinal"), name="uploadpart_job_ordinal")]

    def __str__(self) -> str:
        return f"part {self.ordinal} of job {self.job_id}"
