"""Importing a collection that a connection leads to, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.selectors import get_collection
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer, flag
from ingest_app.api import accepted
from ingest_app.exchange_api import ERRORS
from ingest_app.fetch_jobs import SERVER, Found, check_fetch, start_fetch
from ingest_app.serializers import JobSerializer


class FetchSerializer(StrictSerializer):
    connection = StrictCharField(max_length=512, help_text="Where the collection is.")
    name_there = StrictCharField(
        trim_whitespace=False, max_length=512, required=False, help_text="Its name there; the same unless sent."
    )
    model = StrictCharField(
        required=False, help_text=f"`{SERVER}` where its vectors were made with this server's model."
    )


class RefusedChunkSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    reason = serializers.CharField()


class FoundSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("checked",))
    collection = serializers.CharField()
    is_new = serializers.BooleanField(help_text="Whether the collection would be made.")
    name_there = serializers.CharField()
    distance = serializers.CharField()
    dimension = serializers.IntegerField(allow_null=True, help_text="Null where the other side does not say.")
    chunks = serializers.IntegerField(help_text="Chunks there.")
    embedded = serializers.IntegerField(help_text="Of them, those without a vector that this server would embed.")
    refused = serializers.IntegerField(help_text="Of them, those that cannot be held here.")
    refusals = RefusedChunkSerializer(many=True, help_text="The first 20 of them.")


def present(found: Found, *, name: str) -> dict[str, Any]:
    """What a dry run found, as the API shows it."""
    return {
        "status": "checked",
        "collection": name,
        "is_new": found.is_new,
        "name_there": found.there.name,
        "distance": found.there.distance,
        "dimension": found.there.dimension,
        "chunks": found.fetched.chunks,
        "embedded": found.fetched.embedded,
        "refused": found.fetched.refused,
        "refusals": found.fetched.refusals,
    }


class FetchView(ApiView):
    """A collection that another program holds, copied into a new or an existing one."""

    verbs = {"POST": Verb.WRITE}
    parameters = {"POST": ("dry_run", "create")}

    @extend_schema(
        operation_id="import_from_connection",
        summary="Import a collection of a connection",
        description="A job copies ids, texts, metadata and vectors in batches, goes on where it was cut off, and "
        "compares both at the end. An id that is here is replaced; what is the same is skipped. The key needs `read` "
        "on the name there, too.",
        tags=["collections"],
        parameters=[
            OpenApiParameter("dry_run", bool, description="Count what is there, and write nothing."),
            OpenApiParameter("create", bool, description="Make the collection where there is none."),
        ],
        request=FetchSerializer,
        responses={
            200: FoundSerializer,
            202: JobSerializer,
            **ERRORS,
            **dict.fromkeys((409, 415, 502, 503, 504), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        body = FetchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        name_there = asked.get("name_there", name)
        # Names of collections stand for those of connections, too (docs/access.md).
        self.caller.require(Verb.READ, name_there)
        is_dry, may_create = flag(request, "dry_run"), flag(request, "create")
        given = {"service": asked["connection"], "name_there": name_there, "model": asked.get("model", "")}
        if is_dry:
            if not may_create:
                get_collection(name=name)
            return Response(present(check_fetch(name=name, **given), name=name))
        return accepted(start_fetch(name=name, may_create=may_create, **given))
