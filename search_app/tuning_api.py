"""How a collection is searched, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictFloatField, StrictSerializer
from search_app.modes import FUSIONS, MODE_NAMES
from search_app.tuning import Tuning, get_search_settings, set_search_settings

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class SearchSettingsSerializer(StrictSerializer):
    mode = serializers.ChoiceField(choices=MODE_NAMES, required=False, allow_null=True)
    fusion = serializers.ChoiceField(
        choices=FUSIONS, required=False, allow_null=True, help_text="Unless set, what the mode has."
    )
    lexical_weight = StrictFloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=1,
        help_text="Of words in a calibrated fusion, meaning has the rest. Unless set, each query decides.",
    )
    min_score = StrictFloatField(
        required=False, allow_null=True, min_value=0, max_value=1, help_text="Least similarity unless a request says."
    )


class SearchSettingsStateSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=MODE_NAMES)
    fusion = serializers.ChoiceField(choices=FUSIONS)
    lexical_weight = serializers.FloatField(allow_null=True, help_text="Null: each query decides.")
    min_score = serializers.FloatField(allow_null=True)
    own = SearchSettingsSerializer(help_text="What the collection itself says.")


class SearchSettingsView(ApiView):
    """How a collection is searched where a request leaves it open."""

    verbs = {"GET": Verb.READ, "PUT": Verb.WRITE}

    @extend_schema(
        operation_id="get_search_settings",
        summary="Show how it is searched",
        tags=["search"],
        responses={200: SearchSettingsStateSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_present(*get_search_settings(name=name)))

    @extend_schema(
        operation_id="set_search_settings",
        summary="Change how it is searched",
        description="All of it: what is left out is the mode's again, and `{}` goes back to what the server has.",
        tags=["search"],
        request=SearchSettingsSerializer,
        responses={200: SearchSettingsStateSerializer, **ERRORS, **dict.fromkeys((413, 415, 503), ErrorSerializer)},
    )
    def put(self, request: Request, name: str) -> Response:
        body = SearchSettingsSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_present(*set_search_settings(name=name, own=body.validated_data)))


def _present(own: Mapping[str, Any], tuning: Tuning) -> dict[str, Any]:
    return {
        "mode": tuning.mode,
        "fusion": tuning.fusion,
        "lexical_weight": tuning.lexical_weight,
        "min_score": tuning.min_score,
        "own": own,
    }
