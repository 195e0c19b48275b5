"""The language of a collection's words, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer
from ingest_app.rewording import LanguageState, language_state, set_language

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class LanguageSerializer(StrictSerializer):
    language = StrictCharField(max_length=32, help_text="One of `known`. `simple` stems nothing.")


class LanguageStateSerializer(serializers.Serializer[Any]):
    language = serializers.CharField(help_text="Searches use it.")
    wanted = serializers.CharField(allow_null=True, help_text="Words are to be indexed in it; null: they are.")
    known = serializers.ListField(child=serializers.CharField(), help_text="What can be chosen.")
    job = serializers.UUIDField(allow_null=True, help_text="The job that indexes them, while it is on its way.")


class LanguageView(ApiView):
    """The language whose stems and stop words a collection's word index uses."""

    verbs = {"GET": Verb.READ, "PUT": Verb.WRITE}

    @extend_schema(
        operation_id="get_language",
        summary="Show the language of its words",
        tags=["ingestion"],
        responses={200: LanguageStateSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_present(language_state(name=name)))

    @extend_schema(
        operation_id="set_language",
        summary="Change the language of its words",
        description=(
            "Words of more than a few passages are indexed anew by a job; searches use the old language until all are. "
            "The language that it has gives up a change that is on its way."
        ),
        tags=["ingestion"],
        request=LanguageSerializer,
        responses={200: LanguageStateSerializer, **ERRORS, **dict.fromkeys((413, 415, 503), ErrorSerializer)},
    )
    def put(self, request: Request, name: str) -> Response:
        body = LanguageSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_present(set_language(name=name, language=body.validated_data["language"])))


def _present(state: LanguageState) -> dict[str, Any]:
    return {
        "language": state.language,
        "wanted": state.wanted,
        "known": list(state.known),
        "job": state.job and str(state.job.pk),
    }
