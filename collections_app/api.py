"""Collections over HTTP: made, listed, described, dropped."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.models import Distance
from collections_app.selectors import CollectionSummary, get_summary, list_summaries
from collections_app.services import change_collection, create_collection, delete_collection, update_metadata
from core_app.api import (
    ErrorSerializer,
    StrictBooleanField,
    StrictCharField,
    StrictListField,
    StrictSerializer,
    flag,
    reject_unstorable,
)
from core_app.errors import InvalidInput

ERRORS = dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 500, 503), ErrorSerializer)
MOST_ALIASES = 1000
READ_ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class MetadataField(serializers.JSONField):
    """A JSON object that Postgres can keep."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Send a JSON object.")
        reject_unstorable(data, self.field_name or "metadata")
        return data


class NewCollectionSerializer(StrictSerializer):
    name = StrictCharField(trim_whitespace=False, max_length=512)
    metadata = MetadataField(default=dict)
    embedding_provider = StrictCharField(required=False, help_text="Kept in the metadata, as a record only.")
    embedding_model = StrictCharField(required=False, help_text="Kept in the metadata, as a record only.")
    distance = serializers.ChoiceField(choices=Distance.choices, default=Distance.COSINE)
    language = StrictCharField(
        default="english", max_length=32, help_text="Of the words: Snowball's name of it, or `simple`."
    )


class CollectionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    metadata = serializers.DictField()
    aliases = serializers.ListField(child=serializers.CharField(), help_text="Other names it is found under.")
    count = serializers.IntegerField(help_text="Number of chunks.")
    dimension = serializers.IntegerField(allow_null=True, help_text="Of the vectors; null while empty.")
    distance = serializers.ChoiceField(choices=Distance.choices)
    language = serializers.CharField(help_text="Whose stems and stop words a search by words uses.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class CollectionListSerializer(serializers.Serializer[Any]):
    collections = CollectionSerializer(many=True)
    count = serializers.IntegerField()
    total = serializers.IntegerField()


class MetadataSerializer(StrictSerializer):
    metadata = MetadataField()


class MetadataResponseSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("updated",))
    collection = serializers.CharField()
    metadata = serializers.DictField()


class CollectionChangeSerializer(StrictSerializer):
    name = StrictCharField(required=False, trim_whitespace=False, max_length=512, help_text="The new name.")
    keep_alias = StrictBooleanField(default=False, help_text="Have it found under its old name, too.")
    aliases = StrictListField(
        child=StrictCharField(trim_whitespace=False, max_length=512),
        required=False,
        max_length=MOST_ALIASES,
        help_text="All its other names.",
    )
    embedding_model = StrictCharField(
        required=False, help_text="The server's model, where the callers' vectors were made with the same."
    )


class DeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    collection = serializers.CharField()


def present(summary: CollectionSummary) -> dict[str, Any]:
    """A collection as the API shows it."""
    collection = summary.collection
    return {
        "id": str(collection.uid),
        "name": collection.name,
        "aliases": list(summary.aliases),
        "metadata": collection.metadata,
        "count": summary.count,
        "dimension": summary.dimension,
        "distance": collection.distance,
        "language": collection.language,
        "created_at": collection.created_at,
        "updated_at": collection.updated_at,
    }


#: Larger than any number of rows, and within what Postgres takes as an offset.
MOST_ROWS = 10**18


def page_bounds(request: Request, *, default: int | None, most: int | None = None) -> tuple[int, int | None]:
    """`offset` and `limit` of the query string. Raises InvalidInput for what is no such number."""
    bounds: dict[str, int | None] = {"offset": 0, "limit": default}
    for name, least in (("offset", 0), ("limit", 1)):
        text = request.query_params.get(name)
        if text is None:
            continue
        if not text.isascii() or not text.isdigit() or len(text) > 30 or not least <= int(text) <= MOST_ROWS:
            raise InvalidInput(f"{name} must be a whole number from {least} to 10^18.", code="invalid")
        bounds[name] = int(text)
    limit = bounds["limit"]
    return bounds["offset"] or 0, min(limit, most) if limit is not None and most is not None else limit


PAGE = [
    OpenApiParameter("limit", int, description="Most entries to return."),
    OpenApiParameter("offset", int, description="Entries to leave out first."),
]


class CollectionsView(ApiView):
    """A5: all collections, and a new one."""

    verbs = {"GET": Verb.READ, "POST": Verb.WRITE}
    parameters = {"GET": ("limit", "offset")}

    @extend_schema(
        operation_id="list_collections",
        summary="List collections",
        tags=["collections"],
        parameters=PAGE,
        responses={200: CollectionListSerializer, **READ_ERRORS},
    )
    def get(self, request: Request) -> Response:
        offset, limit = page_bounds(request, default=None)
        visible = [s for s in list_summaries() if self.caller.reaches(s.collection.name)]
        shown = visible[offset : None if limit is None else offset + limit]
        return Response({"collections": [present(s) for s in shown], "count": len(shown), "total": len(visible)})

    @extend_schema(
        operation_id="create_collection",
        summary="Create a collection",
        tags=["collections"],
        request=NewCollectionSerializer,
        responses={201: CollectionSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        body = NewCollectionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        self.caller.require(Verb.WRITE, given["name"])
        record = {key: given[key] for key in ("embedding_provider", "embedding_model") if key in given}
        collection = create_collection(
            name=given["name"],
            metadata={**given["metadata"], **record},
            distance=given["distance"],
            language=given["language"],
        )
        return Response(present(CollectionSummary(collection=collection, count=0)), status=201)


class CollectionView(ApiView):
    """A5.2: one collection."""

    verbs = {"GET": Verb.READ, "PATCH": Verb.WRITE, "DELETE": Verb.DELETE}

    @extend_schema(
        operation_id="get_collection",
        summary="Show a collection",
        tags=["collections"],
        responses={200: CollectionSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(present(get_summary(name=name)))

    @extend_schema(
        operation_id="change_collection",
        summary="Rename a collection, set its aliases or its model",
        tags=["collections"],
        request=CollectionChangeSerializer,
        responses={200: CollectionSerializer, **ERRORS},
    )
    def patch(self, request: Request, name: str) -> Response:
        body = CollectionChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        self._require_all_names(get_summary(name=name), given)
        if not given.keys() - {"keep_alias"}:
            raise InvalidInput("Send 'name', 'aliases' or 'embedding_model'.", code="nothing_sent")
        summary = change_collection(
            name=name,
            new_name=given.get("name"),
            keep_alias=given["keep_alias"],
            aliases=given.get("aliases"),
            embedding_model=given.get("embedding_model"),
        )
        return Response(present(summary))

    def _require_all_names(self, summary: CollectionSummary, given: dict[str, Any]) -> None:
        """Raise NotAllowed unless the key reaches every name that is given or taken away.

        A key for one of its aliases may work with a collection, but not make it its own.
        """
        if "name" not in given and "aliases" not in given:
            return
        new = set(given.get("aliases", summary.aliases))
        changed = new.symmetric_difference(summary.aliases) | {summary.collection.name, given.get("name", "")} - {""}
        for other in changed:
            self.caller.require(Verb.WRITE, other)

    @extend_schema(
        operation_id="delete_collection",
        summary="Delete a collection",
        tags=["collections"],
        responses={200: DeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        delete_collection(name=name)
        return Response({"status": "deleted", "collection": name})


class CollectionMetadataView(ApiView):
    """A5.3 and A8: metadata, replaced or merged."""

    verbs = {"PUT": Verb.WRITE}
    parameters = {"PUT": ("merge",)}

    @extend_schema(
        operation_id="update_collection_metadata",
        summary="Replace or merge metadata",
        tags=["collections"],
        parameters=[OpenApiParameter("merge", bool, description="Keep the keys that are not sent.")],
        request=MetadataSerializer,
        responses={200: MetadataResponseSerializer, **ERRORS},
    )
    def put(self, request: Request, name: str) -> Response:
        merge = flag(request, "merge")
        body = MetadataSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        collection = update_metadata(name=name, metadata=body.validated_data["metadata"], merge=merge)
        return Response({"status": "updated", "collection": name, "metadata": collection.metadata})
