"""Collections of the provider that a connection names, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.models import Verb
from collections_app.api import (
    PAGE,
    CollectionMetadataView,
    CollectionsView,
    CollectionView,
    DeletedSerializer,
    MetadataField,
    MetadataResponseSerializer,
    MetadataSerializer,
    page_bounds,
)
from collections_app.models import Distance
from core_app.api import StrictCharField, StrictSerializer, flag
from core_app.errors import InvalidInput
from core_app.names import NEW_RULE, is_new_name
from gateway_app import services
from gateway_app.api import ERRORS, PARAMETER, SERVICE, GatewayView
from gateway_app.presenting import present_collection
from ingest_app.api import EmptyingView

#: What only this server's own store can do: the gateway has the calls that every service has.
HERE_ONLY = "This can only be done in the built-in store. Leave out 'service'."


class GatewayCollectionSerializer(serializers.Serializer[Any]):
    """As the storage API has it; of a connection's provider fewer fields, and null where it does not say."""

    id = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    metadata = serializers.DictField()
    aliases = serializers.ListField(child=serializers.CharField(), required=False, help_text="Of the built-in store.")
    count = serializers.IntegerField(allow_null=True)
    dimension = serializers.IntegerField(allow_null=True, help_text="Of the vectors; null while empty.")
    distance = serializers.ChoiceField(choices=Distance.choices)
    language = serializers.CharField(required=False, help_text="Of the built-in store.")
    created_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)


class GatewayCollectionListSerializer(serializers.Serializer[Any]):
    collections = GatewayCollectionSerializer(many=True)
    count = serializers.IntegerField()
    total = serializers.IntegerField()


class GatewayNewCollectionSerializer(StrictSerializer):
    name = StrictCharField(trim_whitespace=False, max_length=512)
    metadata = MetadataField(default=dict)
    embedding_provider = StrictCharField(required=False, help_text="Kept in the metadata, as a record only.")
    embedding_model = StrictCharField(required=False, help_text="Kept in the metadata, as a record only.")
    distance = serializers.ChoiceField(choices=Distance.choices, default=Distance.COSINE)
    language = StrictCharField(required=False, max_length=32, help_text="In the built-in store only.")


class GatewayEmptiedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("emptied",))
    collection = serializers.CharField()
    count_deleted = serializers.IntegerField()


class GatewayCollectionsView(GatewayView):
    """A5: a provider's collections, and a new one."""

    here = CollectionsView
    verbs = {"GET": Verb.READ, "POST": Verb.WRITE}
    parameters = {"GET": (PARAMETER, "limit", "offset"), "POST": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_list_collections",
        summary="List a service's collections",
        tags=["gateway"],
        parameters=[SERVICE, *PAGE],
        responses={200: GatewayCollectionListSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        offset, limit = page_bounds(request, default=None)
        with services.provider_of(service=self.service(request)) as provider:
            # All of them: which of them a key reaches only this server knows.
            found = provider.list_collections(limit=None, offset=0).collections
        visible = [one for one in found if self.caller.reaches(one.name)]
        shown = visible[offset : None if limit is None else offset + limit]
        return Response(
            {"collections": [present_collection(one) for one in shown], "count": len(shown), "total": len(visible)}
        )

    @extend_schema(
        operation_id="gateway_create_collection",
        summary="Create a collection in a service",
        tags=["gateway"],
        parameters=[SERVICE],
        request=GatewayNewCollectionSerializer,
        responses={201: GatewayCollectionSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        body = GatewayNewCollectionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        self.caller.require(Verb.WRITE, given["name"])
        if "language" in given:
            raise InvalidInput(f"language: {HERE_ONLY}", code="built_in_only")
        if not is_new_name(given["name"]):
            raise InvalidInput(NEW_RULE, code="invalid_name")
        record = {key: given[key] for key in ("embedding_provider", "embedding_model") if key in given}
        made = services.create_collection(
            service=self.service(request),
            name=given["name"],
            metadata={**given["metadata"], **record},
            distance=given["distance"],
        )
        return Response(present_collection(made), status=201)


class GatewayCollectionView(GatewayView):
    """A5.2: one collection of a provider."""

    here = CollectionView
    verbs = {"GET": Verb.READ, "DELETE": Verb.DELETE}
    parameters = {"GET": (PARAMETER,), "DELETE": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_get_collection",
        summary="Show a service's collection",
        tags=["gateway"],
        parameters=[SERVICE],
        responses={200: GatewayCollectionSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        with services.provider_of(service=self.service(request)) as provider:
            return Response(present_collection(provider.get_collection(name=name)))

    @extend_schema(
        operation_id="gateway_delete_collection",
        summary="Delete a service's collection",
        tags=["gateway"],
        parameters=[SERVICE],
        responses={200: DeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        services.delete_collection(service=self.service(request), name=name)
        return Response({"status": "deleted", "collection": name})


class GatewayCollectionMetadataView(GatewayView):
    """A5.3 and A8: metadata, replaced or merged."""

    here = CollectionMetadataView
    verbs = {"PUT": Verb.WRITE}
    parameters = {"PUT": (PARAMETER, "merge")}

    @extend_schema(
        operation_id="gateway_update_collection_metadata",
        summary="Replace or merge metadata of a service's collection",
        tags=["gateway"],
        parameters=[SERVICE, OpenApiParameter("merge", bool, description="Keep the keys that are not sent.")],
        request=MetadataSerializer,
        responses={200: MetadataResponseSerializer, **ERRORS},
    )
    def put(self, request: Request, name: str) -> Response:
        merge = flag(request, "merge")
        body = MetadataSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        metadata = services.update_metadata(
            service=self.service(request), name=name, metadata=body.validated_data["metadata"], merge=merge
        )
        return Response({"status": "updated", "collection": name, "metadata": dict(metadata)})


class GatewayEmptyingView(GatewayView):
    """A9.7: everything in a collection of a provider goes, the collection stays."""

    here = EmptyingView
    verbs = {"DELETE": Verb.DELETE}
    parameters = {"DELETE": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_empty_collection",
        summary="Empty a service's collection",
        tags=["gateway"],
        parameters=[SERVICE],
        request=None,
        responses={200: GatewayEmptiedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        deleted = services.empty(service=self.service(request), name=name)
        return Response({"status": "emptied", "collection": name, "count_deleted": deleted})
