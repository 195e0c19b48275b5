"""Ingestion over HTTP: files and texts in, jobs and sources out, collections emptied."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.api import PAGE, page_bounds
from collections_app.documents_api import DocumentView
from collections_app.selectors import get_collection, get_held, list_documents, list_names
from core_app.api import ErrorSerializer, StrictJSONParser, flag, parse_json
from core_app.errors import InvalidInput, TooLarge
from core_app.wiring import app_settings
from ingest_app.models import Job
from ingest_app.selectors import get_job, list_jobs, report, reports
from ingest_app.serializers import (
    DryRunSerializer,
    EmptiedSerializer,
    JobListSerializer,
    JobSerializer,
    SourceDeletedSerializer,
    SourceListSerializer,
    TextsSerializer,
    UploadSerializer,
    present_job,
    present_source,
)
from ingest_app.services import (
    EMPTYING_SECONDS,
    delete_source,
    empty_collection,
    preview_emptying,
    start_emptying,
    wait_for_job,
)
from ingest_app.steering import cancel_job, retry_job
from ingest_app.submitting import Source, submit
from ingest_app.uploads import UploadParser, sent_name

MAX_WAIT_SECONDS = 60
#: Stands for the collection of a job that has none: no name of a collection, so only `*` reaches it.
WHOLE_SERVER = ""
ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class DocumentsView(ApiView):
    """Index files or texts; the answer is a job to wait for."""

    verbs = {"POST": Verb.WRITE}
    parameters = {"POST": ("wait",)}
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
    if not str(request.content_type).lower().startswith("multipart/"):
        return _texts(request.data)
    # Before the parts are read; the server has the body's length even where the parts do not add up.
    limit = app_settings().ingestion.max_request_bytes
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
        raise TooLarge(f"The request is larger than {limit} bytes. Send fewer files at a time.")
    if len(request.POST.getlist("metadata")) > 1:
        raise InvalidInput("metadata: send it once, it is given to each file.", code="invalid")
    metadata = _form_metadata(request.POST.get("metadata"))
    if "file" in request.POST:
        raise InvalidInput("file: has no file name. Send files as curl -F 'file=@PATH' does.", code="invalid")
    unknown = sorted((set(request.POST) - {"metadata"}) | (set(request.FILES) - {"file"}))
    if unknown:
        detail = f"The field '{unknown[0]}' is not expected. Send files as 'file', a JSON object as 'metadata'."
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
    parameters = {"GET": ("limit", "offset"), "DELETE": ("source",)}

    @extend_schema(
        operation_id="list_sources",
        summary="List the documents of a collection",
        tags=["ingestion"],
        parameters=PAGE,
        responses={200: SourceListSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        offset, limit = page_bounds(request, default=100, most=1000)
        documents = list_documents(collection=get_held(name=name))
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


class EmptyingView(ApiView):
    """A9: everything in a collection goes, the collection stays."""

    verbs = {"DELETE": Verb.DELETE}
    parameters = {"DELETE": ("dry_run",)}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Every other method is meant for the document that is called "all"."""
        if request.method in {"GET", "HEAD", "PATCH"}:
            return DocumentView.as_view()(request, *args, document_id="all", **kwargs)
        return super().dispatch(request, *args, **kwargs)

    @extend_schema(
        operation_id="empty_collection",
        summary="Empty a collection",
        description=(
            "Deletes all documents in one transaction; the collection, its metadata and its settings stay. "
            f"A large collection is emptied by a job. This call waits for it, up to {EMPTYING_SECONDS:.0f} s."
        ),
        tags=["collections"],
        parameters=[
            OpenApiParameter("dry_run", bool, description="Say what would go, and delete nothing."),
            OpenApiParameter(
                "Prefer",
                str,
                OpenApiParameter.HEADER,
                description="`respond-async`: answer at once with the job that empties the collection.",
            ),
        ],
        request=None,
        responses={
            200: OpenApiResponse(
                PolymorphicProxySerializer(
                    component_name="Emptying",
                    serializers={"emptied": EmptiedSerializer, "dry_run": DryRunSerializer},
                    resource_type_field_name="status",
                ),
                "It is empty, or what would go.",
            ),
            202: OpenApiResponse(JobSerializer, "The job goes on."),
            **ERRORS,
            **dict.fromkeys((409, 413, 415, 503), ErrorSerializer),
        },
    )
    def delete(self, request: Request, name: str) -> Response:
        if _is_dry_run(request, name):
            found = preview_emptying(name=name)
            shown = {"status": "dry_run", "collection": name, "count": found.chunks, "documents": found.documents}
            return Response(shown)
        if _prefers_async(request):
            return accepted(start_emptying(name=name), headers={"Preference-Applied": "respond-async"})
        emptied = empty_collection(name=name, seconds=EMPTYING_SECONDS)
        if emptied.job is not None:
            return accepted(emptied.job)
        return Response({"status": "emptied", "collection": name, "count_deleted": emptied.count_deleted})


def _is_dry_run(request: Request, name: str) -> bool:
    """Raises InvalidInput for whatever else was sent: it was meant to keep something from being deleted."""
    get_collection(name=name)
    is_dry = flag(request, "dry_run")
    if request.data:
        raise InvalidInput(
            "This deletes all documents and takes no body. To delete some, leave '/all' out of the address.",
            code="body_not_expected",
        )
    return is_dry


def _prefers_async(request: Request) -> bool:
    preferences = request.headers.get("Prefer", "").split(",")
    return "respond-async" in {preference.partition(";")[0].strip().lower() for preference in preferences}


def accepted(job: Job, *, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """The job that does what was asked, and where to ask for it."""
    place = reverse("job", kwargs={"job_id": job.pk})
    return Response(present_job(report(job=job)), status=202, headers={"Location": place, **headers})


class JobsView(ApiView):
    """Jobs, newest first."""

    verbs = {"GET": Verb.READ}
    parameters = {"GET": ("limit", "offset", "collection", "kind")}

    @extend_schema(
        operation_id="list_jobs",
        summary="List jobs",
        tags=["ingestion"],
        parameters=[
            *PAGE,
            OpenApiParameter("collection", str, description="Of this collection only."),
            OpenApiParameter("kind", str, enum=Job.Kind.values, description="Of this kind only."),
        ],
        responses={200: JobListSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        offset, limit = page_bounds(request, default=50, most=500)
        kind = request.query_params.get("kind")
        if kind is not None and kind not in Job.Kind.values:
            raise InvalidInput(f"kind must be one of: {', '.join(Job.Kind.values)}.", code="invalid")
        wanted = request.query_params.get("collection")
        if wanted is not None:
            self.caller.require(Verb.READ, wanted)
            names: list[str] | None = [get_collection(name=wanted).name]
        elif self.caller.reaches(WHOLE_SERVER):
            names = None
        else:
            names = [name for name in list_names() if self.caller.reaches(name)]
        jobs = list_jobs(collections=names, kind=kind)
        shown = [present_job(found) for found in reports(jobs[offset : offset + (limit or 0)])]
        return Response({"jobs": shown, "count": len(shown), "total": jobs.count()})


#: Of an item's place: what the database's integer holds.
MOST_DIGITS = 9


class OneJobView(ApiView):
    """What the views of one job share."""

    def reach(self, job_id: uuid.UUID, verb: Verb) -> Job:
        """The job, when the caller's key reaches its collection."""
        job = get_job(job_id=job_id)
        self.caller.require(verb, job.collection_name or WHOLE_SERVER)
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
    """Try an ended job again: its failed items, or the whole of one without items."""

    verbs = {"POST": Verb.WRITE}
    parameters = {"POST": ("item",)}

    @extend_schema(
        operation_id="retry_job",
        summary="Try again what failed",
        tags=["ingestion"],
        request=None,
        parameters=[OpenApiParameter("item", int, description="Only the item at this place of the list, from 0.")],
        responses={202: JobSerializer, 409: ErrorSerializer, **ERRORS},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        job = self.reach(job_id, Verb.WRITE)
        if job.kind == Job.Kind.EMPTY:
            self.reach(job_id, Verb.DELETE)
        job = retry_job(job=job, ordinal=_ordinal(request))
        return Response(present_job(report(job=job)), status=202)


def _ordinal(request: Request) -> int | None:
    text = request.query_params.get("item")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise InvalidInput("item must be the place of an item in the job: 0 or more.", code="invalid")
    return int(text)
