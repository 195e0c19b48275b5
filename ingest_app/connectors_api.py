"""Connectors over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import (
    ErrorSerializer,
    StrictBooleanField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    flag,
)
from ingest_app.connectors import (
    LONGEST,
    MOST_URLS,
    SHORTEST,
    NewConnector,
    change_connector,
    create_connector,
    delete_connector,
    get_connector,
    last_jobs,
    list_connectors,
    run_connector,
)
from ingest_app.models import Connector
from ingest_app.selectors import list_jobs, report, reports
from ingest_app.serializers import (
    CleanedCharField,
    CleanedMetadataField,
    JobSerializer,
    JobSummarySerializer,
    present_job,
)

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
_EVERY = "Seconds from one run to the next; null means only when asked."


class ConnectorChangesSerializer(StrictSerializer):
    urls = StrictListField(
        child=CleanedCharField(), required=False, max_length=MOST_URLS, help_text="Of a list: its addresses."
    )
    metadata = CleanedMetadataField(required=False)
    remove_vanished = StrictBooleanField(
        required=False, help_text="Whether documents go whose file, or address in the list, is gone."
    )
    every_seconds = StrictIntegerField(
        required=False, allow_null=True, min_value=SHORTEST, max_value=LONGEST, help_text=_EVERY
    )


class NewConnectorSerializer(ConnectorChangesSerializer):
    kind = serializers.ChoiceField(choices=Connector.Kind.choices)
    location = CleanedCharField(
        required=False, max_length=4096, help_text="The folder's path on the server, or the repository's http(s) URL."
    )
    branch = CleanedCharField(required=False, max_length=255, help_text="Of a repository; else its own default.")
    prefix = CleanedCharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Put before the names of the files. A repository's is its name unless set.",
    )


class ConnectorSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Connector.Kind.choices)
    location = serializers.CharField(allow_null=True)
    branch = serializers.CharField(allow_null=True)
    urls = serializers.ListField(child=serializers.CharField())
    prefix = serializers.CharField(allow_blank=True)
    metadata = serializers.DictField()
    remove_vanished = serializers.BooleanField()
    every_seconds = serializers.IntegerField(allow_null=True)
    next_run_at = serializers.DateTimeField(allow_null=True)
    last_job = JobSummarySerializer(allow_null=True, help_text="What it did last, or does now.")
    created_at = serializers.DateTimeField()


class ConnectorListSerializer(serializers.Serializer[Any]):
    connectors = ConnectorSerializer(many=True)
    count = serializers.IntegerField()


class ConnectorDeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    id = serializers.UUIDField()


class ConnectorsView(ApiView):
    """The places that a collection is kept in step with."""

    verbs = {"GET": Verb.READ, "POST": Verb.ADMIN}

    @extend_schema(
        operation_id="list_connectors",
        summary="List a collection's connectors",
        tags=["ingestion"],
        responses={200: ConnectorListSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        found = list(list_connectors(collection_name=name))
        return Response({"connectors": _present(found), "count": len(found)})

    @extend_schema(
        operation_id="create_connector",
        summary="Keep a collection in step with a place",
        description=(
            "A folder of the server (below `Ingestion:SyncFolders`), a git repository, or a list of URLs. With "
            "`every_seconds` it runs at once and so often from then on; without, when asked. Addresses in private "
            "networks are not read unless the operator allows them."
        ),
        tags=["ingestion"],
        request=NewConnectorSerializer,
        responses={201: ConnectorSerializer, **ERRORS, **dict.fromkeys((409, 413, 415, 503), ErrorSerializer)},
    )
    def post(self, request: Request, name: str) -> Response:
        body = NewConnectorSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        made = create_connector(collection_name=name, new=NewConnector(**body.validated_data))
        return Response(_present([made])[0], status=201)


class ConnectorView(ApiView):
    """One connector."""

    verbs = {"GET": Verb.READ, "PATCH": Verb.ADMIN, "DELETE": Verb.ADMIN}

    @extend_schema(
        operation_id="get_connector",
        summary="Show a connector",
        tags=["ingestion"],
        responses={200: ConnectorSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str, connector_id: UUID) -> Response:
        return Response(_present([get_connector(collection_name=name, connector_id=connector_id)])[0])

    @extend_schema(
        operation_id="change_connector",
        summary="Change a connector",
        description="Fields that are left out stay. What is indexed follows with the next run.",
        tags=["ingestion"],
        request=ConnectorChangesSerializer,
        responses={200: ConnectorSerializer, **ERRORS, **dict.fromkeys((413, 415, 503), ErrorSerializer)},
    )
    def patch(self, request: Request, name: str, connector_id: UUID) -> Response:
        body = ConnectorChangesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        connector = get_connector(collection_name=name, connector_id=connector_id)
        return Response(_present([change_connector(connector=connector, values=body.validated_data)])[0])

    @extend_schema(
        operation_id="delete_connector",
        summary="Forget a connector",
        description="Its documents stay. A job of it that has not ended is cancelled.",
        tags=["ingestion"],
        request=None,
        responses={200: ConnectorDeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str, connector_id: UUID) -> Response:
        delete_connector(connector=get_connector(collection_name=name, connector_id=connector_id))
        return Response({"status": "deleted", "id": str(connector_id)})


class ConnectorRunView(ApiView):
    """Reading a connector's place now."""

    verbs = {"POST": Verb.WRITE}
    parameters = {"POST": ("dry_run",)}

    @extend_schema(
        operation_id="run_connector",
        summary="Run a connector now",
        parameters=[OpenApiParameter("dry_run", bool, description="Only say what would be done, in the job's result.")],
        tags=["ingestion"],
        request=None,
        responses={202: OpenApiResponse(JobSerializer, "The job that reads it."), 409: ErrorSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str, connector_id: UUID) -> Response:
        connector = get_connector(collection_name=name, connector_id=connector_id)
        job = run_connector(connector=connector, dry_run=flag(request, "dry_run"))
        return Response(present_job(report(job=job)), status=202)


def _present(connectors: Sequence[Connector]) -> list[dict[str, Any]]:
    jobs = last_jobs(connectors=connectors)
    shown = reports(list_jobs().filter(pk__in=[job.pk for job in jobs.values()]))
    by_job = {found.job.pk: present_job(found) for found in shown}
    return [
        {
            "id": str(connector.pk),
            "kind": connector.kind,
            "location": connector.location or None,
            "branch": connector.branch or None,
            "urls": connector.urls,
            "prefix": connector.prefix,
            "metadata": connector.metadata,
            "remove_vanished": connector.remove_vanished,
            "every_seconds": connector.every_seconds,
            "next_run_at": connector.next_run_at,
            "last_job": by_job.get(jobs[connector.pk].pk) if connector.pk in jobs else None,
            "created_at": connector.created_at,
        }
        for connector in connectors
    ]
