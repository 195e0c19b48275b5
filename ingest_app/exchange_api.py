"""Collections written out and read again, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from typing import IO, Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.exporting import export_collection
from collections_app.selectors import get_collection
from core_app.api import ErrorSerializer, flag
from core_app.errors import InvalidInput, TooLarge
from core_app.streaming import Streamed, streamed
from ingest_app.api import accepted
from ingest_app.exchange_rows import Report
from ingest_app.exchange_target import Way
from ingest_app.import_jobs import start_import
from ingest_app.importing import check_import
from ingest_app.models import Job
from ingest_app.serializers import JobSerializer
from ingest_app.uploads import SPOOL_BYTES, UploadParser

LINES = "application/x-ndjson"
ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
_PIECE = 1024 * 1024


class LinesParser(BaseParser):
    """A body that is the file itself; kept on disk where it is large."""

    media_type = LINES

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, IO[bytes]]:
        """`{"file": ...}`: the framework expects something like a form."""
        limit, size = settings.RAGSITE.ingestion.max_request_bytes, 0
        file = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115  # it goes with the request
        while piece := stream.read(_PIECE):
            size += len(piece)
            if size > limit:
                file.close()
                raise TooLarge("The request is larger than this server accepts. Import the file on the server.")
            file.write(piece)
        return {"file": file}


class TallySerializer(serializers.Serializer[Any]):
    new = serializers.IntegerField()
    replaced = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class RefusalSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="From 1.")
    reason = serializers.CharField()


class ImportSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("checked", "imported"))
    collection = serializers.CharField()
    is_new = serializers.BooleanField(help_text="Whether the collection is made by this.")
    documents = TallySerializer()
    chunks = TallySerializer()
    removed = serializers.IntegerField(help_text="Chunks of the file's documents that the file does not have.")
    vectors = serializers.ChoiceField(
        choices=[way.value for way in Way], help_text="Stored as they are in the file, or made by this server."
    )
    embedded = serializers.IntegerField(help_text="Chunks whose text this server embeds.")
    refused = serializers.IntegerField(help_text="Lines that cannot be stored; then nothing is.")
    refusals = RefusalSerializer(many=True, help_text="The first 20 of them.")


def present(report: Report, *, name: str, status: str) -> dict[str, Any]:
    """A report as the API shows it."""
    return {
        "status": status,
        "collection": name,
        "is_new": report.is_new,
        "documents": asdict(report.documents),
        "chunks": asdict(report.chunks),
        "removed": report.removed,
        "vectors": report.way.value,
        "embedded": report.embedded,
        "refused": report.refused,
        "refusals": [asdict(one) for one in report.refusals],
    }


class ExportView(ApiView):
    """A collection as lines of JSON."""

    verbs = {"GET": Verb.READ}
    parameters = {"GET": ("vectors",)}

    @extend_schema(
        operation_id="export_collection",
        summary="Export a collection",
        description="Lines of JSON, sent while they are read: the collection, its documents, its chunks, an end.",
        tags=["collections"],
        parameters=[OpenApiParameter("vectors", bool, description="Whether vectors are in it; true unless sent.")],
        responses={(200, LINES): OpenApiTypes.STR, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Streamed:
        vectors = flag(request, "vectors") if "vectors" in request.query_params else True
        parts = export_collection(name=name, vectors=vectors)
        return streamed(request=request._request, parts=parts, content_type=LINES, filename=f"{name}.jsonl")


class ImportView(ApiView):
    """An exported collection, stored in a new or an existing one."""

    verbs = {"POST": Verb.WRITE}
    parameters = {"POST": ("dry_run", "create")}
    parser_classes = [LinesParser, UploadParser]

    @extend_schema(
        operation_id="import_collection",
        summary="Import a collection",
        description="At most 10,000 chunks and 10,000 documents are imported at once, all or nothing. More are stored "
        "by a job, batch by batch: the answer is 202, and what is stored when it ends before its time stays. Settings "
        "of a collection that exists stay as they are. Texts without a vector of its model are embedded by the server.",
        tags=["collections"],
        parameters=[
            OpenApiParameter("dry_run", bool, description="Say what would be done, and write nothing."),
            OpenApiParameter("create", bool, description="Make the collection where there is none."),
        ],
        request={
            LINES: OpenApiTypes.BINARY,
            "multipart/form-data": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}},
        },
        responses={
            200: ImportSerializer,
            202: JobSerializer,
            **ERRORS,
            **dict.fromkeys((409, 413, 415, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        is_dry, may_create = flag(request, "dry_run"), flag(request, "create")
        with closing(_file(request)) as file:
            if not may_create:
                get_collection(name=name)
            if is_dry:
                checked = check_import(name=name, stream=file, bounded=False)
                return Response(present(checked, name=name, status="checked"))
            made = start_import(name=name, stream=file, may_create=may_create)
        return accepted(made) if isinstance(made, Job) else Response(present(made, name=name, status="imported"))


def _file(request: Request) -> IO[bytes]:
    limit = settings.RAGSITE.ingestion.max_request_bytes
    if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
        raise TooLarge("The request is larger than this server accepts. Import the file on the server.")
    data: Any = request.data
    if str(request.content_type).lower().startswith("multipart/"):
        unknown = sorted((set(request.POST) | set(request.FILES)) - {"file"})
        files = request.FILES.getlist("file")
        if unknown or len(files) != 1:
            raise InvalidInput("Send one file, as 'file', and no other field.", code="invalid")
        found: IO[bytes] = files[0].file
        return found
    given: IO[bytes] | None = data.get("file")
    if given is None:
        raise InvalidInput(f"Send an exported collection as the body, of type {LINES}.", code="invalid")
    return given
