"""Whether the server works: for load balancers, for operators, and as spec A's clients expect it (A12)."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import PublicView
from access_app.services import Caller
from collections_app.health import holdings
from core_app.wiring import embedder, pair_scorer

logger = logging.getLogger(__name__)


class QueryEngineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="What embeds queries, such as `onnxruntime`.")
    reason = serializers.CharField(allow_blank=True, help_text="Why it is no faster one.")
    is_fallback = serializers.BooleanField(
        help_text="Whether a faster one was wanted and cannot be used: searches find the same, but later."
    )
    is_loading = serializers.BooleanField(help_text="Whether the model is being loaded: the server is not ready yet.")


class CrossEncoderSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(help_text="Its name, or the folder it was loaded from.")
    status = serializers.ChoiceField(choices=("loaded",))


class HealthSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("healthy", "unhealthy"))
    timestamp = serializers.DateTimeField(required=False, help_text="Now, in UTC.")
    version = serializers.CharField(required=False)
    collections = serializers.IntegerField(required=False)
    storage_bytes = serializers.IntegerField(required=False, help_text="Size of the whole database.")
    query_engine = QueryEngineSerializer(required=False)
    cross_encoder = CrossEncoderSerializer(required=False, help_text="Only where one is loaded.")
    detail = serializers.CharField(required=False, help_text="What is wrong, when something is.")


class LiveSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("alive",))


class HealthView(PublicView):
    """A12. Callers without a key see the status only, wherever keys are asked for."""

    @extend_schema(
        summary="Whether the server works",
        responses={200: HealthSerializer, 503: HealthSerializer},
        tags=["health"],
        auth=[],
    )
    def get(self, request: Request) -> Response:
        known = isinstance(request.auth, Caller)
        engine = embedder().query_engine
        body: dict[str, Any] = {"status": "healthy"}
        details: dict[str, Any] = {
            "timestamp": datetime.now(tz=UTC).isoformat(),
            "version": settings.RAGSITE_VERSION,
            "query_engine": asdict(engine),
        }
        if scorer := pair_scorer():
            details["cross_encoder"] = {"model": scorer.model, "status": "loaded"}
        if engine.is_loading:
            body["status"] = "unhealthy"
            details["detail"] = "The embedding model is being loaded: ask again in some seconds."
        try:
            details |= asdict(holdings())
        except (DatabaseError, InterfaceError):
            logger.exception("health check failed")
            body["status"] = "unhealthy"
            details["detail"] = "The database cannot be reached."
        status = 200 if body["status"] == "healthy" else 503
        answer = Response({**body, **details} if known else body, status=status)
        # Django would log it as an error of the server; what is wrong was logged above, and loading is not.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer


class LiveView(PublicView):
    """Whether the process answers at all; asks nothing of the database."""

    authentication_classes: list[type[BaseAuthentication]] = []

    @extend_schema(summary="Whether the process answers", responses=LiveSerializer, tags=["health"])
    def get(self, request: Request) -> Response:
        return Response({"status": "alive"})
