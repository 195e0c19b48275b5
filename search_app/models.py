"""The query log as rows."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone


class QueryLog(models.Model):
    """One search, answered or not.

    Names and ids only, no foreign keys: what was searched may go, and that it was searched is still known.
    """

    class TextForm(models.TextChoices):
        """What was kept of the text."""

        HASHED = "hashed", "Hashed"
        MASKED = "masked", "Masked"
        PLAIN = "plain", "Plain"

    class Status(models.TextChoices):
        """What became of it."""

        OK = "ok", "Answered"
        #: Something failed, or was cut for the time; what else was found is the answer.
        DEGRADED = "degraded", "Degraded"
        FAILED = "failed", "Failed"

    asked_at = models.DateTimeField("when", default=timezone.now)
    #: The name of the key, of the console's user, or of the door that needs none.
    asked_by = models.TextField()
    request_id = models.CharField(max_length=64, blank=True)
    collections = ArrayField(models.TextField())
    text = models.TextField(blank=True)
    text_form = models.CharField(max_length=8, choices=TextForm.choices)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.OK, db_default=Status.OK)
    #: The code of why it failed.
    error = models.CharField(max_length=64, blank=True, default="", db_default="")
    #: Of one that failed what was asked for, or empty.
    mode = models.CharField(max_length=16)
    fusion = models.CharField(max_length=16)
    query_strategy = models.CharField(max_length=64)
    top_k = models.BigIntegerField()
    filtered = models.BooleanField()
    result_count = models.PositiveIntegerField()
    #: `[collection, id]` of the first of them, best first.
    results = models.JSONField(default=list)
    #: Codes.
    warnings = ArrayField(models.CharField(max_length=64), default=list)
    took_ms = models.FloatField()
    #: Milliseconds by stage.
    stages_ms = models.JSONField(default=dict)

    class Meta:
        verbose_name = "query"
        verbose_name_plural = "queries"
        ordering = ("-asked_at", "-id")
        indexes = [
            # The list, newest first, and what is too old.
            models.Index(fields=["asked_at", "id"], name="search_querylog_asked_at"),
            models.Index(fields=["asked_at", "id"], name="search_querylog_nothing", condition=models.Q(result_count=0)),
            models.Index(fields=["asked_at", "id"], name="search_querylog_warned", condition=~models.Q(warnings=[])),
            models.Index(fields=["asked_at", "id"], name="search_querylog_not_ok", condition=~models.Q(status="ok")),
            GinIndex(fields=["collections"], name="search_querylog_collections"),
        ]

    def __str__(self) -> str:
        return f"query {self.pk}"
