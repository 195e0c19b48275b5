"""Documents of a provider's collections over HTTP, each with its own embedding (A4, A6, A7)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.models import Verb
from collections_app.api import page_bounds
from collections_app.documents_api import (
    INCLUDE,
    PAGE,
    WHERE,
    AddedSerializer,
    DocumentChangeSerializer,
    DocumentListSerializer,
    DocumentsDeletedSerializer,
    DocumentsDeletionSerializer,
    DocumentSerializer,
    DocumentsView,
    DocumentView,
    MetadataValuesSerializer,
    MetadataValuesView,
    NewDocumentsSerializer,
    wants_embeddings,
)
from collections_app.documents_body import DOCUMENTS_REQUIRED, DocumentsParser, GivenDocuments
from collections_app.reading import DEFAULT_LIMIT, MAX_LIMIT
from collections_app.removing import NOTHING_NAMED
from core_app.api import StrictJSONParser, reject_unstorable
from core_app.errors import InvalidInput
from core_app.providers import HeldChunk
from core_app.where import Where, parse_where_text
from gateway_app import services
from gateway_app.api import ERRORS, PARAMETER, SERVICE, GatewayView
from gateway_app.collections_api import HERE_ONLY
from gateway_app.presenting import present_chunk, present_near
from search_app.query_api import QUERY_RESPONSE, QuerySerializer, QueryView


def refuse_here_only(given: dict[str, Any], *fields: str) -> None:
    """Raise InvalidInput for a field that only the built-in store knows."""
    for field in fields:
        if given.get(field) is not None:
            raise InvalidInput(f"{field.removesuffix('_name')}: {HERE_ONLY}", code="built_in_only")


class GatewayDocumentsView(GatewayView):
    """A4 and A6: documents added, listed by metadata, deleted."""

    here = DocumentsView
    verbs = {"GET": Verb.READ, "POST": Verb.WRITE, "DELETE": Verb.DELETE}
    parameters = {
        "GET": (PARAMETER, "where", "limit", "offset", "include"),
        "POST": (PARAMETER,),
        "DELETE": (PARAMETER,),
    }

    def get_parsers(self) -> list[Any]:
        """An add has its own parser: 200 MB of numbers are not kept as objects."""
        adding = getattr(getattr(self, "request", None), "method", "") == "POST"
        return [DocumentsParser() if adding else StrictJSONParser()]

    @extend_schema(
        operation_id="gateway_list_documents",
        summary="List documents of a service by metadata",
        tags=["gateway"],
        parameters=[SERVICE, WHERE, *PAGE[:2], INCLUDE],
        responses={200: DocumentListSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        offset, limit = page_bounds(request, default=DEFAULT_LIMIT, most=MAX_LIMIT)
        with_embeddings = wants_embeddings(request)
        where = _where(request)
        with services.provider_of(service=self.service(request)) as provider:
            page = provider.list_chunks(
                name=name, where=where, limit=limit or DEFAULT_LIMIT, offset=offset, with_embeddings=with_embeddings
            )
        shown = [present_chunk(chunk, with_embedding=with_embeddings) for chunk in page.chunks]
        return Response({"documents": shown, "count": len(shown), "total": page.total, "next_cursor": None})

    @extend_schema(
        operation_id="gateway_add_documents",
        summary="Add documents with their embeddings to a service",
        tags=["gateway"],
        parameters=[SERVICE],
        request=NewDocumentsSerializer,
        responses={201: AddedSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        given: GivenDocuments | None = cast("dict[str, Any]", request.data).get("given")
        if given is None:  # without a body nothing was parsed
            raise InvalidInput(DOCUMENTS_REQUIRED, code="documents_required")
        chunks = _chunks(given)
        # Of an id that was sent twice the last one, as in the built-in store.
        last = {chunk.id: chunk for chunk in chunks}
        services.add(service=self.service(request), name=name, chunks=list(last.values()))
        ids = [chunk.id for chunk in chunks]
        return Response({"status": "added", "collection": name, "count": len(last), "ids": ids}, status=201)

    @extend_schema(
        operation_id="gateway_delete_documents",
        summary="Delete documents of a service by id or filter",
        description='The body is `{"ids": [...]}` or `{"where": {...}}`, neither empty.',
        tags=["gateway"],
        parameters=[SERVICE],
        request=DocumentsDeletionSerializer,
        responses={200: DocumentsDeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, name: str) -> Response:
        body = DocumentsDeletionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        refuse_here_only(given, "filter_name")
        ids, where = given.get("ids"), given.get("where")
        if bool(ids) == bool(where) or ("where" in given and where is None):
            raise InvalidInput(NOTHING_NAMED, code="nothing_named")
        deleted = services.delete_chunks(service=self.service(request), name=name, ids=ids, where=where)
        return Response({"status": "deleted", "count_deleted": deleted})


class GatewayDocumentView(GatewayView):
    """One document by its id."""

    here = DocumentView
    verbs = {"GET": Verb.READ, "PATCH": Verb.WRITE}
    parameters = {"GET": (PARAMETER, "include"), "PATCH": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_get_document",
        summary="Show a service's document",
        tags=["gateway"],
        parameters=[SERVICE, INCLUDE],
        responses={200: DocumentSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str, document_id: str) -> Response:
        with_embedding = wants_embeddings(request)
        with services.provider_of(service=self.service(request)) as provider:
            chunk = provider.get_chunk(name=name, chunk_id=document_id, with_embedding=with_embedding)
        return Response(present_chunk(chunk, with_embedding=with_embedding))

    @extend_schema(
        operation_id="gateway_change_document",
        summary="Merge a service's document's metadata, replace its text and embedding",
        tags=["gateway"],
        parameters=[SERVICE],
        request=DocumentChangeSerializer,
        responses={200: DocumentSerializer, **ERRORS},
    )
    def patch(self, request: Request, name: str, document_id: str) -> Response:
        body = DocumentChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        refuse_here_only(given, "disabled")
        if not given:
            raise InvalidInput("Send 'metadata', or 'text' with its 'embedding'.", code="nothing_sent")
        if ("text" in given) != ("embedding" in given):
            raise InvalidInput("Send 'text' and 'embedding' together.", code="embedding_required")
        reject_unstorable(given.get("text", ""), "text")
        chunk = services.change_chunk(
            service=self.service(request),
            name=name,
            chunk_id=document_id,
            metadata=given.get("metadata"),
            text=given.get("text"),
            embedding=given.get("embedding"),
        )
        return Response(present_chunk(chunk))


class GatewayMetadataValuesView(GatewayView):
    """A7: the values that a key of the metadata has."""

    here = MetadataValuesView
    verbs = {"GET": Verb.READ}
    parameters = {"GET": (PARAMETER, "field")}

    @extend_schema(
        operation_id="gateway_list_metadata_values",
        summary="List the values of a metadata field in a service",
        tags=["gateway"],
        parameters=[SERVICE, OpenApiParameter("field", str, required=True)],
        responses={200: MetadataValuesSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        key = request.query_params.get("field", "")
        if not key:
            raise InvalidInput("Query parameter 'field' is required.", code="field_required")
        with services.provider_of(service=self.service(request)) as provider:
            found = provider.metadata_values(name=name, key=key)
        values = list(found.values)
        return Response({"field": key, "values": values, "count": len(values), "truncated": found.truncated})


class GatewayQueryView(GatewayView):
    """The nearest documents of a given vector."""

    here = QueryView
    verbs = {"POST": Verb.SEARCH}
    parameters = {"POST": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_query_documents",
        summary="Find the nearest documents in a service",
        tags=["gateway"],
        parameters=[SERVICE],
        request=QuerySerializer,
        responses={200: QUERY_RESPONSE, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        body = QuerySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        refuse_here_only(given, "filter_name")
        single = "query_embedding" in given
        queries = [given["query_embedding"]] if single else given["query_embeddings"]
        if len({len(query) for query in queries}) > 1:
            raise InvalidInput("Send queries of as many numbers each.", code="dimension_mismatch")
        with services.provider_of(service=self.service(request)) as provider:
            found = provider.nearest(
                name=name, queries=np.stack(queries), limit=given["top_k"], where=given.get("where")
            )
        results: Sequence[Any] = [[present_near(one) for one in hits] for hits in found]
        return Response({"results": results[0] if single else results, "count": sum(map(len, found))})


def _where(request: Request) -> Where | None:
    text = request.query_params.get("where")
    return None if text is None else parse_where_text(text)


def _chunks(given: GivenDocuments) -> list[HeldChunk]:
    """With an id made for each that has none."""
    embeddings = given.take_embeddings()
    return [
        HeldChunk(
            id=str(uuid.uuid4()) if chunk.external_id is None else chunk.external_id,
            text=chunk.text,
            metadata=chunk.metadata,
            embedding=embedding,
        )
        for chunk, embedding in zip(given.chunks, embeddings, strict=True)
    ]
