"""Documents of a collection over HTTP, each with its own embedding (A4, A6, A7)."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.adding import add_chunks
from collections_app.api import ERRORS, READ_ERRORS, MetadataField, page_bounds
from collections_app.changing import change_chunk
from collections_app.documents_body import DOCUMENTS_REQUIRED, DocumentsParser, GivenDocuments
from collections_app.filters_api import FILTER, FilterNameField
from collections_app.reading import DEFAULT_LIMIT, StoredChunk, get_chunk, list_chunks, metadata_values
from collections_app.removing import NOTHING_NAMED, delete_chunks
from core_app.api import (
    EmbeddingField,
    ErrorSerializer,
    StrictBooleanField,
    StrictCharField,
    StrictJSONParser,
    StrictListField,
    StrictSerializer,
    WhereField,
    reject_unstorable,
)
from core_app.errors import InvalidInput
from core_app.where import Where, parse_where_text


class NewDocumentSerializer(StrictSerializer):
    id = StrictCharField(required=False, help_text="One that exists is replaced; without it one is made.")
    text = StrictCharField(trim_whitespace=False, allow_blank=True)
    metadata = MetadataField(required=False)
    embedding = EmbeddingField()


class NewDocumentsSerializer(StrictSerializer):
    documents = NewDocumentSerializer(many=True, allow_empty=False, help_text="At most 10,000.")


class AddedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("added",))
    collection = serializers.CharField()
    count = serializers.IntegerField(help_text="Documents stored: of an id that was sent twice, the last one.")
    ids = serializers.ListField(child=serializers.CharField(), help_text="In the order of the request.")


class DocumentSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    text = serializers.CharField()
    metadata = serializers.DictField()
    embedding = serializers.ListField(child=serializers.FloatField(), required=False, allow_null=True)
    disabled = serializers.BooleanField(required=False, help_text="True where no search finds it; not there otherwise.")


class DocumentListSerializer(serializers.Serializer[Any]):
    documents = DocumentSerializer(many=True)
    count = serializers.IntegerField(help_text="In this answer.")
    total = serializers.IntegerField(help_text="Of all that the filter lets through.")
    next_cursor = serializers.CharField(allow_null=True, help_text="Leads to the next page; null on the last.")


class DocumentChangeSerializer(StrictSerializer):
    metadata = MetadataField(required=False, help_text="Merged; a null takes its key away.")
    text = StrictCharField(required=False, trim_whitespace=False, allow_blank=True)
    embedding = EmbeddingField(required=False)
    disabled = StrictBooleanField(required=False, help_text="True: no search finds it until it is set to false.")


class DocumentsDeletionSerializer(StrictSerializer):
    ids = StrictListField(
        child=StrictCharField(trim_whitespace=False, allow_blank=True), required=False, max_length=10_000
    )
    where = WhereField(required=False)
    filter = FilterNameField()


class DocumentsDeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    count_deleted = serializers.IntegerField()


class MetadataValuesSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    values = serializers.ListField(child=serializers.JSONField())
    count = serializers.IntegerField()
    truncated = serializers.BooleanField(help_text="True where there are more than 10,000.")


def present_chunk(chunk: StoredChunk, *, with_embedding: bool = False) -> dict[str, Any]:
    """A chunk as the storage API shows it, which calls it a document."""
    shown: dict[str, Any] = {"id": chunk.id, "text": chunk.text, "metadata": chunk.metadata}
    if with_embedding:
        shown["embedding"] = None if chunk.embedding is None else chunk.embedding.tolist()
    if chunk.is_disabled:
        shown["disabled"] = True
    return shown


def wants_embeddings(request: Request) -> bool:
    """Whether `include` asks for them. Raises InvalidInput for anything else in it."""
    asked = {part.strip() for part in request.query_params.get("include", "").split(",")} - {""}
    if asked - {"embedding"}:
        raise InvalidInput("include: only 'embedding' can be included.", code="invalid")
    return bool(asked)


WHERE = OpenApiParameter("where", str, description='A filter as JSON, e.g. `{"doc_type": "heading"}`.')
INCLUDE = OpenApiParameter("include", str, enum=["embedding"], description="Show the embeddings, too.")
PAGE = [
    OpenApiParameter("limit", int, description="Most documents to return; 100 unless given, never more than 1,000."),
    OpenApiParameter("offset", int, description="Documents to leave out first."),
    OpenApiParameter("cursor", str, description="The `next_cursor` of the page before, for pages of any depth."),
]


class DocumentsView(ApiView):
    """A4 and A6: documents added, listed by metadata, deleted."""

    verbs = {"GET": Verb.READ, "POST": Verb.WRITE, "DELETE": Verb.DELETE}
    parameters = {"GET": ("where", "filter", "limit", "offset", "cursor", "include")}

    def get_parsers(self) -> list[Any]:
        """An add has its own parser: 200 MB of numbers are not kept as objects."""
        # There is no request while the schema is generated.
        adding = getattr(getattr(self, "request", None), "method", "") == "POST"
        return [DocumentsParser() if adding else StrictJSONParser()]

    @extend_schema(
        operation_id="list_stored_documents",
        summary="List documents by metadata",
        tags=["documents"],
        parameters=[WHERE, FILTER, *PAGE, INCLUDE],
        responses={200: DocumentListSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        offset, limit = page_bounds(request, default=DEFAULT_LIMIT)
        with_embeddings = wants_embeddings(request)
        page = list_chunks(
            collection_name=name,
            where=_where(request),
            filter_name=request.query_params.get("filter"),
            limit=limit or DEFAULT_LIMIT,
            offset=offset,
            cursor=request.query_params.get("cursor"),
            with_embeddings=with_embeddings,
        )
        shown = [present_chunk(chunk, with_embedding=with_embeddings) for chunk in page.chunks]
        return Response({"documents": shown, "count": len(shown), "total": page.total, "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="add_documents",
        summary="Add documents with their embeddings",
        tags=["documents"],
        request=NewDocumentsSerializer,
        responses={201: AddedSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        given: GivenDocuments | None = cast("dict[str, Any]", request.data).get("given")
        if given is None:  # without a body nothing was parsed
            raise InvalidInput(DOCUMENTS_REQUIRED, code="documents_required")
        added = add_chunks(collection_name=name, chunks=given.chunks, embeddings=given.take_embeddings)
        return Response({"status": "added", "collection": name, "count": added.count, "ids": added.ids}, status=201)

    @extend_schema(
        operation_id="delete_documents",
        summary="Delete documents by id or filter",
        description='The body is `{"ids": [...]}`, `{"where": {...}}` or `{"filter": NAME}`, none of them empty.',
        tags=["documents"],
        request=DocumentsDeletionSerializer,
        responses={200: DocumentsDeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        body = DocumentsDeletionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        if "where" in given and given["where"] is None:
            raise InvalidInput(NOTHING_NAMED, code="nothing_named")
        deleted = delete_chunks(
            collection_name=name,
            ids=given.get("ids"),
            where=given.get("where"),
            filter_name=given.get("filter_name"),
        )
        return Response({"status": "deleted", "count_deleted": deleted})


def _where(request: Request) -> Where | None:
    text = request.query_params.get("where")
    return None if text is None else parse_where_text(text)


class DocumentView(ApiView):
    """One document by its id."""

    verbs = {"GET": Verb.READ, "PATCH": Verb.WRITE}
    parameters = {"GET": ("include",)}

    @extend_schema(
        operation_id="get_stored_document",
        summary="Show a document",
        tags=["documents"],
        parameters=[INCLUDE],
        responses={200: DocumentSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str, document_id: str) -> Response:
        with_embedding = wants_embeddings(request)
        chunk = get_chunk(collection_name=name, external_id=document_id, with_embedding=with_embedding)
        return Response(present_chunk(chunk, with_embedding=with_embedding))

    @extend_schema(
        operation_id="change_document",
        summary="Merge a document's metadata, replace its text and embedding, disable it",
        tags=["documents"],
        request=DocumentChangeSerializer,
        responses={200: DocumentSerializer, **ERRORS},
    )
    def patch(self, request: Request, name: str, document_id: str) -> Response:
        body = DocumentChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        if not given:
            raise InvalidInput("Send 'metadata', 'disabled', or 'text' with its 'embedding'.", code="nothing_sent")
        reject_unstorable(given.get("text", ""), "text")
        chunk = change_chunk(
            collection_name=name,
            external_id=document_id,
            metadata=given.get("metadata"),
            text=given.get("text"),
            embedding=given.get("embedding"),
            disabled=given.get("disabled"),
        )
        return Response(present_chunk(chunk))


class MetadataValuesView(ApiView):
    """A7: the values that a key of the metadata has."""

    verbs = {"GET": Verb.READ}
    parameters = {"GET": ("field",)}

    @extend_schema(
        operation_id="list_metadata_values",
        summary="List the values of a metadata field",
        tags=["documents"],
        parameters=[OpenApiParameter("field", str, required=True)],
        responses={200: MetadataValuesSerializer, **dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)},
    )
    def get(self, request: Request, name: str) -> Response:
        key = request.query_params.get("field", "")
        if not key:
            raise InvalidInput("Query parameter 'field' is required.", code="field_required")
        found = metadata_values(collection_name=name, key=key)
        return Response(
            {"field": key, "values": found.values, "count": len(found.values), "truncated": found.truncated}
        )
