"""Jobs and their items: the truth about work, kept where the results are kept."""

from __future__ import annotations

import uuid

from django.db import models

from collections_app.models import Collection


class Job(models.Model):
    """A request to index sources. Whoever holds the unexpired lease works on it, nobody else."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        SUCCEEDED = "succeeded", "Succeeded"
        PARTIAL = "partial", "Partly failed"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    class Kind(models.TextChoices):
        INGEST = "ingest", "Ingest"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.INGEST)
    collection = models.ForeignKey(Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="jobs")
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    #: Names the holder; a worker that lost its lease cannot commit under a token that has changed.
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = [
            models.Index(fields=("-created_at", "-id"), name="job_newest_first"),
            # What the reaper looks at: few rows, whatever the history.
            models.Index(
                fields=("lease_expires_at",), name="job_unfinished", condition=models.Q(finished_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Item(models.Model):
    """One source of a job, with its own outcome."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        SUCCEEDED = "succeeded", "Succeeded"
        SKIPPED = "skipped", "Unchanged"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    job = models.ForeignKey(Job, on_delete=models.DO_NOTHING, db_constraint=False, related_name="items", db_index=False)
    #: Place in the request, from 0.
    ordinal = models.PositiveIntegerField()
    source = models.TextField()
    #: Given by the caller; empty means: take it from the content.
    title = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
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
