"""Texts put in order by the provider that a connection names, over HTTP (A13, A14)."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.models import Verb
from core_app.api import ErrorSerializer
from gateway_app import services
from gateway_app.api import PARAMETER, SERVICE, GatewayView
from rerank_app.api import REQUEST, RESPONSES, RerankSerializer, RerankView


class GatewayRerankView(GatewayView):
    """Texts in order of how well they answer a query. With a service, the body is Ragsite's own form."""

    here = RerankView
    verbs = {"POST": Verb.SEARCH}
    parameters = {"POST": (PARAMETER,)}

    @extend_schema(
        operation_id="gateway_rerank",
        summary="Put texts in order by a service",
        tags=["gateway"],
        parameters=[SERVICE],
        request=REQUEST,
        responses={**RESPONSES, **dict.fromkeys((404, 409, 502, 504), ErrorSerializer)},
    )
    def post(self, request: Request) -> Response:
        body = RerankSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        documents = body.validated_data["documents"]
        ranked = services.rerank(
            service=self.service(request),
            query=body.validated_data["query"],
            texts=[document["text"] for document in documents],
            top_k=body.validated_data.get("top_k"),
        )
        reranked = [
            {"id": documents[one.index]["id"], "score": one.score, "original_rank": one.index + 1} for one in ranked
        ]
        return Response({"reranked": reranked})
