"""Ingestion over HTTP: files and texts in, jobs and sources out."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.api import PAGE, page_bounds
from collections_app.selectors import get_collection, list_documents, list_names
from core_app.api import ErrorSerializer, StrictJSONParser, parse_json
from core_app.errors import InvalidInput, TooLarge
from core_app.wiring import app_settings
from ingest_app.models import Job
from ingest_app.selectors import get_job, list_jobs, report, reports
from ingest_app.serializers import (
    JobListSerializer,
    JobSerializer,
    SourceDeletedSerializer,
    SourceListSerializer,
    TextsSerializer,
    UploadSerializer,
    present_job,
    present_source,
)
from ingest_app.services import delete_source, wait_for_job
from ingest_app.submitting import Source, cancel_job, retry_job, submit
from ingest_app.uploads import UploadParser, sent_name

MAX_WAIT_SECONDS = 60
ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class DocumentsView(ApiView):
    """Index files or texts; the answer is a job to wait for."""

    verbs = {"POST": Verb.WRITE}
    parser_classes = [StrictJSONParser, UploadParser]

    @extend_schema(
        operation_id="ingest_documents",
        summary="Upload files or texts",
        tags=["ingestion"],
        parameters=[OpenApiParameter("wait", float, description="Seconds to wait for the end, at most 60.")],
        request={"application/json": TextsSerializer, "multipart/form-data": UploadSerializer},
        responses={
            200: OpenApiResponse(JobSerializer, "The job has ended."),
            202: OpenApiResponse(JobSerializer, "The job goes on."),
            **ERRORS,
            **dict.fromkeys((409, 413, 415, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        seconds = _wait_seconds(request)
        job = submit(collection_name=name, sources=_sources(request))
        ended = wait_for_job(job_id=job.pk, seconds=seconds)
        return Response(present_job(report(job=ended)), status=202 if ended.finished_at is None else 200)


def _wait_seconds(request: Request) -> float:
    text = request.query_params.get("wait", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise InvalidInput(f"wait must be a number of seconds from 0 to {MAX_WAIT_SECONDS}.", code="invalid")
    return seconds


def _sources(request: Request) -> list[Source]:
    if not str(request.content_type).startswith("multipart/"):
        return _texts(request.data)
    # Before the parts are read; the server has the body's length even where the parts do not add up.
    limit = app_settings().ingestion.max_request_bytes
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
        raise TooLarge(f"The request is larger than {limit} bytes. Send fewer files at a time.")
    metadata = _form_metadata(request.POST.get("metadata"))
    if "file" in request.POST:
        raise InvalidInput("file: has no file name. Send files as curl -F 'file=@PATH' does.", code="invalid")
    unknown = sorted((set(request.POST) - {"metadata"}) | (set(request.FILES) - {"file"}))
    if unknown:
        detail = f"{unknown[0]}: not expected. Send files as 'file' and a JSON object as the field 'metadata'."
        raise InvalidInput(detail, code="invalid")
    uploads: list[UploadedFile[bytes]] = request.FILES.getlist("file")
    return [Source(name=sent_name(upload), content=upload.read(), metadata=metadata) for upload in uploads]


def _texts(data: Any) -> list[Source]:
    body = TextsSerializer(data=data)
    body.is_valid(raise_exception=True)
    return [
        Source(
            name=text["source"],
            content=text["text"].encode("utf-8"),
            title=text["title"],
            metadata=text["metadata"],
            is_text=True,
        )
        for text in body.validated_data["documents"]
    ]


def _form_metadata(text: Any) -> dict[str, Any]:
    if text is None or text == "":
        return {}
    try:
        metadata = parse_json(str(text))
    except InvalidInput:
        metadata = None
    if not isinstance(metadata, dict):
        raise InvalidInput("metadata: send a JSON object.", code="invalid")
    return metadata


class SourcesView(ApiView):
    """The documents of a collection; one removed with its chunks."""

    verbs = {"GET": Verb.READ, "DELETE": Verb.DELETE}

    @extend_schema(
        operation_id="list_sources",
        summary="List the documents of a collection",
        tags=["ingestion"],
        parameters=PAGE,
        responses={200: SourceListSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        offset, limit = page_bounds(request, default=100, most=1000)
        documents = list_documents(collection=get_collection(name=name))
        shown = [present_source(document) for document in documents[offset : offset + (limit or 0)]]
        return Response({"sources": shown, "count": len(shown), "total": documents.count()})

    @extend_schema(
        operation_id="delete_source",
        summary="Remove a document",
        tags=["ingestion"],
        parameters=[OpenApiParameter("source", str, required=True)],
        responses={200: SourceDeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        source = request.query_params.get("source", "")
        if not source:
            raise InvalidInput("Name the document to remove: ?source=NAME.", code="invalid")
        removed = delete_source(collection_name=name, source=source)
        return Response({"status": "deleted", "collection": name, "source": source, "chunks_deleted": removed})


class JobsView(ApiView):
    """Jobs, newest first."""

    verbs = {"GET": Verb.READ}

    @extend_schema(
        operation_id="list_jobs",
        summary="List jobs",
        tags=["ingestion"],
        parameters=[*PAGE, OpenApiParameter("collection", str, description="Of this collection only.")],
        responses={200: JobListSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        offset, limit = page_bounds(request, default=50, most=500)
        names = [name for name in list_names() if self.caller.reaches(name)]
        wanted = request.query_params.get("collection")
        if wanted is not None:
            self.caller.require(Verb.READ, wanted)
            names = [get_collection(name=wanted).name]
        jobs = list_jobs(collections=names)
        shown = [present_job(found) for found in reports(jobs[offset : offset + (limit or 0)])]
        return Response({"jobs": shown, "count": len(shown), "total": jobs.count()})


class OneJobView(ApiView):
    """What the views of one job share."""

    def reach(self, job_id: uuid.UUID, verb: Verb) -> Job:
        """The job, when the caller's key reaches its collection."""
        job = get_job(job_id=job_id)
        self.caller.require(verb, job.collection.name)
        return job


class JobView(OneJobView):
    """One job with its items."""

    verbs = {"GET": Verb.READ}

    @extend_schema(
        operation_id="get_job",
        summary="Show a job with its items",
        tags=["ingestion"],
        responses={200: JobSerializer, **ERRORS},
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        return Response(present_job(report(job=self.reach(job_id, Verb.READ))))


class JobCancelView(OneJobView):
    """Stop a job."""

    verbs = {"POST": Verb.WRITE}

    @extend_schema(
        operation_id="cancel_job",
        summary="Stop a job",
        tags=["ingestion"],
        request=None,
        responses={200: JobSerializer, **ERRORS},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return Response(present_job(report(job=cancel_job(job=self.reach(job_id, Verb.WRITE)))))


class JobRetryView(OneJobView):
    """Try the failed items of an ended job again."""

    verbs = {"POST": Verb.WRITE}

    @extend_schema(
        operation_id="retry_job",
        summary="Try failed items again",
        tags=["ingestion"],
        request=None,
        responses={202: JobSerializer, 409: ErrorSerializer, **ERRORS},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = retry_job(job=self.reach(job_id, Verb.WRITE))
        return Response(present_job(report(job=job)), status=202)
