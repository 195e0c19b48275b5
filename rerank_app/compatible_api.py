"""`/v1/rerank` and `/v2/rerank` as Cohere and Jina have them: one answer that the clients of all of them read.

Their clients send what they like, so fields that are not known are not refused here; those that ask for something
that is not done are named in `meta.warnings`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictBooleanField, StrictIntegerField, StrictListField, reject_unstorable
from core_app.wiring import app_settings
from rerank_app.fields import MOST_DOCUMENTS, QueryField, TextField, TolerantSerializer
from rerank_app.services import Ranking, rank

#: What a client may ask for and is not done, with what is done instead.
_UNHEEDED = {
    "max_chunks_per_doc": "a document is read as one text, up to the length that the model reads",
    "max_tokens_per_doc": "a document is cut where the model stops to read, which may be earlier or later",
    "relevant_spans": "no spans are given",
    "priority": "requests take turns",
}
_MOST_FIELDS = 100


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {}}]})
class DocumentField(serializers.Field[Any, Any, Any, Any]):
    """A text, or an object that has one; the validated value is what was sent."""

    default_error_messages = {"invalid": "Send a text, or an object with the field 'text'."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str | Mapping):
            self.fail("invalid")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class CompatibleRerankSerializer(TolerantSerializer):
    model = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Taken and without effect: the loaded model scores, and the answer names it.",
    )
    query = QueryField()
    documents: Any = StrictListField(child=DocumentField(), max_length=MOST_DOCUMENTS)
    top_n = StrictIntegerField(required=False, allow_null=True, min_value=1)
    return_documents = StrictBooleanField(required=False, allow_null=True)
    rank_fields: Any = StrictListField(
        child=TextField(),
        required=False,
        allow_null=True,
        max_length=_MOST_FIELDS,
        help_text="Which fields of documents that are objects are read, in this order; `text` unless given.",
    )


class CompatibleResultSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Its place in the request, from 0.")
    relevance_score = serializers.FloatField(help_text="0 to 1, whatever the model.")
    document = serializers.DictField(required=False, help_text="As it was sent, and with the `text` that was read.")


class CompatibleUsageSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField(help_text="That the model read.")
    total_tokens = serializers.IntegerField()


class ApiVersionSerializer(serializers.Serializer[Any]):
    version = serializers.ChoiceField(choices=("1", "2"))


class BilledUnitsSerializer(serializers.Serializer[Any]):
    search_units = serializers.IntegerField(help_text="Always 1: nobody is billed.")


class CompatibleMetaSerializer(serializers.Serializer[Any]):
    api_version = ApiVersionSerializer()
    billed_units = BilledUnitsSerializer()
    warnings = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="What was asked for and not done."
    )


class CompatibleResponseSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    model = serializers.CharField(help_text="The one that scored.")
    results = CompatibleResultSerializer(many=True, help_text="Best first.")
    usage = CompatibleUsageSerializer()
    meta = CompatibleMetaSerializer()


class CompatibleErrorSerializer(ErrorSerializer):
    message = serializers.CharField(help_text="The same as `detail`: where Cohere's clients look.")


_ANSWERS: dict[int, Any] = {
    200: CompatibleResponseSerializer,
    **dict.fromkeys((400, 401, 403, 413, 415, 500, 503), CompatibleErrorSerializer),
}


class CompatibleView(ApiView):
    """What both addresses do."""

    version: ClassVar[str]
    #: Whether documents are in the answer where the request does not say.
    returns_documents: ClassVar[bool]

    def handle_exception(self, exc: Exception) -> Response:
        """The server's answer to any exception, with its sentence where these clients look for it."""
        answer = super().handle_exception(exc)
        answer.data["message"] = answer.data["detail"]
        if answer.data["code"] == "cross_encoder_not_loaded":
            # Waiting does not load a model, and Cohere's client would wait for as long as it is told to.
            del answer["Retry-After"]
        return answer

    def rerank(self, request: Request) -> Response:
        body = CompatibleRerankSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        fields = given.get("rank_fields") or ["text"]
        texts = [_text(document, fields, index) for index, document in enumerate(given["documents"])]
        ranking = rank(query=given["query"], texts=texts, top_n=given.get("top_n"))
        wanted = given.get("return_documents")
        documents = given["documents"] if (self.returns_documents if wanted is None else wanted) else None
        return Response(
            {
                "id": str(uuid.uuid4()),
                "model": _name(ranking),
                "results": _results(ranking, texts, documents),
                "usage": {"prompt_tokens": ranking.tokens, "total_tokens": ranking.tokens},
                "meta": self._meta(dict(request.data)),
            }
        )

    def _meta(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        meta: dict[str, Any] = {"api_version": {"version": self.version}, "billed_units": {"search_units": 1}}
        warnings = [f"{name}: {instead}." for name, instead in _UNHEEDED.items() if sent.get(name) is not None]
        return {**meta, "warnings": warnings} if warnings else meta


class RerankV1View(CompatibleView):
    """Cohere's first version, and Jina's. Jina's gives documents unless told not to, which does Cohere's no harm."""

    verbs = {"POST": Verb.SEARCH}
    version = "1"
    returns_documents = True

    @extend_schema(
        operation_id="rerank_v1",
        summary="Put texts in order, for clients of Cohere (v1) and Jina",
        tags=["rerank"],
        request=CompatibleRerankSerializer,
        responses=_ANSWERS,
    )
    def post(self, request: Request) -> Response:
        return self.rerank(request)


class RerankV2View(CompatibleView):
    """Cohere's second version, whose results have an index and a score."""

    verbs = {"POST": Verb.SEARCH}
    version = "2"
    returns_documents = False

    @extend_schema(
        operation_id="rerank_v2",
        summary="Put texts in order, for clients of Cohere (v2)",
        tags=["rerank"],
        request=CompatibleRerankSerializer,
        responses=_ANSWERS,
    )
    def post(self, request: Request) -> Response:
        return self.rerank(request)


def _name(ranking: Ranking) -> str:
    """The model's; of one that was loaded from a folder, the folder's, since a path is nobody else's business."""
    return PurePath(ranking.model).name if app_settings().rerank.cross_encoder_path else ranking.model


def _results(ranking: Ranking, texts: Sequence[str], documents: Sequence[Any] | None) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for one in ranking.ranked:
        result: dict[str, Any] = {"index": one.index, "relevance_score": one.probability}
        if documents is not None:
            sent = documents[one.index]
            own = sent if isinstance(sent, Mapping) else {}
            # A text that was sent stays as it was; where there was none, it is what was read.
            result["document"] = {**own, "text": texts[one.index] if own.get("text") is None else own["text"]}
        results.append(result)
    return results


def _text(document: Any, fields: Sequence[str], index: int) -> str:
    """What the model is to read of a document."""
    place = f"documents.{index}"
    if isinstance(document, str):
        return _checked(document, place)
    reject_unstorable(document, place)  # all of it may be in the answer
    values = [document[name] for name in fields if document.get(name) is not None]
    if not values:
        names = ", ".join(fields)[:200]
        raise ValidationError({place: [f"Send a text, or an object with one of the fields: {names}."]})
    lines = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    return _checked("\n".join(lines), place)


def _checked(text: str, place: str) -> str:
    try:
        checked: str = TextField().run_validation(text)
    except ValidationError as error:
        raise ValidationError({place: error.detail}) from None
    return checked
