"""The query log, and test cases with what people judged relevant, as rows."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from collections_app.models import Collection


class QueryLog(models.Model):
    """One search, answered or not.

    Names and ids only, no foreign keys: what was searched may go, and that it was searched is still known.
    """

    class TextForm(models.TextChoices):
        """What was kept of the text."""

        HASHED = "hashed", _("Hashed")
        MASKED = "masked", _("Masked")
        PLAIN = "plain", _("Plain")

    class Status(models.TextChoices):
        """What became of it."""

        OK = "ok", _("Answered")
        #: Something failed, or was cut for the time; what else was found is the answer.
        DEGRADED = "degraded", _("Degraded")
        FAILED = "failed", _("Failed")

    asked_at = models.DateTimeField(_("when"), default=timezone.now)
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
    #: Whether a test case was run: nobody asked, so it counts in no figures of what is searched.
    is_test = models.BooleanField(default=False, db_default=False)
    #: Milliseconds by stage.
    stages_ms = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("query")
        verbose_name_plural = _("queries")
        ordering = ("-asked_at", "-id")
        indexes = [
            # The list, newest first, and what is too old.
            models.Index(fields=["asked_at", "id"], name="search_querylog_asked_at"),
            # What people and programs asked, which the figures by day count.
            models.Index(fields=["asked_at", "id"], name="search_querylog_asked", condition=models.Q(is_test=False)),
            models.Index(fields=["asked_at", "id"], name="search_querylog_nothing", condition=models.Q(result_count=0)),
            models.Index(fields=["asked_at", "id"], name="search_querylog_warned", condition=~models.Q(warnings=[])),
            models.Index(fields=["asked_at", "id"], name="search_querylog_not_ok", condition=~models.Q(status="ok")),
            GinIndex(fields=["collections"], name="search_querylog_collections"),
        ]

    def __str__(self) -> str:
        return f"query {self.pk}"


class TestCase(models.Model):
    """A question to a collection, how it is searched, and what people judged: a topic of a test collection."""

    __test__ = False  # to pytest

    collection = models.ForeignKey(
        Collection, on_delete=models.DO_NOTHING, db_constraint=False, related_name="test_cases", db_index=False
    )
    name = models.TextField()
    query = models.TextField()
    topic = models.TextField(blank=True, default="")
    #: The filter as JSON; null without one.
    where = models.JSONField(null=True, blank=True)
    #: What a search request may say; what is missing is left to the collection.
    settings = models.JSONField(default=dict, blank=True)
    #: nDCG@10 that it had when it was last accepted; less than that is worse.
    expected = models.FloatField(null=True, blank=True)
    saved_by = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=("collection", "name"), name="testcase_collection_name")]

    def __str__(self) -> str:
        return self.name


class Judgement(models.Model):
    """What somebody says of one passage for a question: a line of qrels.

    No foreign key to the passage: it is known by the id that survives when its source is ingested again, and by
    source and beginning where it is cut anew.
    """

    case = models.ForeignKey(
        TestCase, on_delete=models.DO_NOTHING, db_constraint=False, related_name="judgements", db_index=False
    )
    external_id = models.TextField()
    source = models.TextField(blank=True)
    excerpt = models.TextField(blank=True)
    #: Above 0 it is relevant.
    grade = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ("-grade", "id")
        constraints = [models.UniqueConstraint(fields=("case", "external_id"), name="judgement_case_external_id")]

    def __str__(self) -> str:
        return f"{self.external_id}: {self.grade}"


class TestRun(models.Model):
    """What a test case found at one time."""

    __test__ = False

    case = models.ForeignKey(
        TestCase, on_delete=models.DO_NOTHING, db_constraint=False, related_name="runs", db_index=False
    )
    ran_at = models.DateTimeField(default=timezone.now)
    ran_by = models.TextField()
    #: Null where the search failed.
    ndcg_at_10 = models.FloatField(null=True)
    #: Whether something relevant was among the results that were asked for.
    hit = models.BooleanField(default=False)
    #: Of the first that is relevant, from 1; null where none was found.
    first_rank = models.PositiveIntegerField(null=True)
    mode = models.CharField(max_length=16, blank=True)
    fusion = models.CharField(max_length=16, blank=True)
    reranker = models.CharField(max_length=16, blank=True)
    #: Ids of the first ten, best first.
    results = models.JSONField(default=list)
    warnings = ArrayField(models.CharField(max_length=64), default=list)
    #: The code of why it failed.
    error = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-ran_at", "-id")
        indexes = [models.Index(fields=["case", "-ran_at", "-id"], name="search_testrun_of_case")]

    def __str__(self) -> str:
        return f"run {self.pk}"
