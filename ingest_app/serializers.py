"""The shapes of ingestion requests and jobs on the wire."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from collections_app.models import Document
from core_app.api import StrictSerializer
from ingest_app.models import Item, Job
from ingest_app.selectors import JobReport
from ingest_app.submitting import clean_json, clean_text


class CleanedCharField(serializers.CharField):
    """A string from which NUL and lone surrogates are taken out, instead of being refused."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(clean_text(data)))


class CleanedMetadataField(serializers.JSONField):
    """A JSON object; what Postgres cannot keep of it is taken out."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Send a JSON object.")
        return clean_json(data)


class TextSerializer(StrictSerializer):
    source = CleanedCharField(help_text="Names the document in its collection; sending it again replaces it.")  # type: ignore[assignment]  # the API's word
    text = CleanedCharField(trim_whitespace=False, allow_blank=True, help_text="Markdown or plain text.")
    title = CleanedCharField(required=False, allow_blank=True, default="")
    metadata = CleanedMetadataField(default=dict)


class TextsSerializer(StrictSerializer):
    documents = TextSerializer(many=True, allow_empty=False)


class UploadSerializer(serializers.Serializer[Any]):
    """For the schema: the files of a multipart request."""

    file = serializers.ListField(
        child=serializers.FileField(), help_text="One or more files; the file name is the source."
    )
    metadata = serializers.CharField(required=False, help_text="A JSON object, given to each file's chunks.")


class ItemSerializer(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]  # the API's word
    state = serializers.ChoiceField(choices=Item.State.choices)
    chunks = serializers.IntegerField()
    attempts = serializers.IntegerField(help_text="How often it was begun.")
    started_at = serializers.DateTimeField(allow_null=True, help_text="When the last attempt began.")
    finished_at = serializers.DateTimeField(allow_null=True)
    next_try_at = serializers.DateTimeField(
        allow_null=True, help_text="It failed for a cause that may pass, and is tried again then."
    )
    error = serializers.CharField(allow_null=True, help_text="What went wrong and what to do about it.")
    code = serializers.CharField(allow_null=True)


class JobSummarySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Job.Kind.choices)
    collection = serializers.CharField(allow_null=True, help_text="Null where the job is about the whole server.")
    state = serializers.ChoiceField(choices=Job.State.choices)
    step = serializers.CharField(allow_null=True, help_text="What is being done, for jobs without items.")
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    unpacked = serializers.IntegerField(help_text="Archives among those done: the files in them are counted, too.")
    failed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField(help_text="How often somebody began on it.")
    heartbeat_at = serializers.DateTimeField(allow_null=True, help_text="When its worker was last heard of.")
    next_try_at = serializers.DateTimeField(allow_null=True, help_text="Nobody works on it before.")
    result = serializers.DictField(allow_null=True, help_text="What came of it, for jobs without items.")
    error = serializers.CharField(allow_null=True, help_text="Why it failed as a whole, and what to do about it.")
    code = serializers.CharField(allow_null=True)


class JobSerializer(JobSummarySerializer):
    items = ItemSerializer(many=True)


class JobListSerializer(serializers.Serializer[Any]):
    jobs = JobSummarySerializer(many=True)
    count = serializers.IntegerField()
    total = serializers.IntegerField()


class SourceSerializer(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]  # the API's word
    title = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=Document.State.choices)
    chunks = serializers.IntegerField()
    hash = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_null=True)
    code = serializers.CharField(allow_null=True)
    updated_at = serializers.DateTimeField()


class SourceListSerializer(serializers.Serializer[Any]):
    sources = SourceSerializer(many=True)
    count = serializers.IntegerField()
    total = serializers.IntegerField()


class SourceDeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    collection = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the API's word
    chunks_deleted = serializers.IntegerField()


class EmptiedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("emptied",))
    collection = serializers.CharField()
    count_deleted = serializers.IntegerField(help_text="Chunks that were in it.")


class DryRunSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("dry_run",))
    collection = serializers.CharField()
    count = serializers.IntegerField(help_text="Chunks that would go.")
    documents = serializers.IntegerField(help_text="Documents that would go.")


def present_job(report: JobReport) -> dict[str, Any]:
    """A job as the API shows it, with its items where the report has them."""
    job = report.job
    shown: dict[str, Any] = {
        "id": str(job.pk),
        "kind": job.kind,
        "collection": job.collection_name,
        "state": job.state,
        "step": job.step or None,
        "total": report.total,
        "done": report.done,
        "unpacked": report.unpacked,
        "failed": report.failed,
        "skipped": report.skipped,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "attempts": job.attempts,
        "heartbeat_at": job.heartbeat_at,
        "next_try_at": job.next_try_at,
        "result": job.result,
        "error": job.error or None,
        "code": job.code or None,
    }
    if report.items is not None:
        shown["items"] = [
            {
                "source": item.source,
                "state": item.state,
                "chunks": item.chunks,
                "attempts": item.attempts,
                "started_at": item.started_at,
                "finished_at": item.finished_at,
                "next_try_at": item.next_try_at,
                "error": item.error or None,
                "code": item.code or None,
            }
            for item in report.items
        ]
    return shown


def present_source(document: Document) -> dict[str, Any]:
    """A document as the API shows it."""
    return {
        "source": document.source,
        "title": document.title,
        "state": document.state,
        "chunks": document.chunk_count,
        "hash": document.content_hash,
        "error": document.error or None,
        "code": document.error_code or None,
        "updated_at": document.updated_at,
    }
