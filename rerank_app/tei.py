"""`POST /rerank` as Hugging Face's Text Embeddings Inference has it: a body with `texts`, answered by a bare array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from core_app.api import StrictBooleanField, StrictListField, sayable
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from rerank_app.fields import MOST_DOCUMENTS, QueryField, TextField, TolerantSerializer
from rerank_app.services import rank

#: Of an error, by the names that TEI has for them.
STATUS = {
    "Empty": 400,
    "Validation": 422,
    "Backend": 424,
    "Overloaded": 429,
    "Unhealthy": 503,
}
ERROR_TYPES = tuple(STATUS)


class TeiRerankSerializer(TolerantSerializer):
    query = QueryField()
    texts: Any = StrictListField(child=TextField())
    raw_scores = StrictBooleanField(
        default=False, allow_null=True, help_text="What the model's head gives, instead of 0 to 1."
    )
    return_text = StrictBooleanField(default=False, allow_null=True)
    truncate = StrictBooleanField(
        default=False,
        allow_null=True,
        help_text="Taken and without effect: what is longer than the model reads is always cut.",
    )
    truncation_direction = serializers.ChoiceField(
        choices=("Right", "right"),
        default="Right",
        allow_null=True,
        help_text="Texts are cut at their end, never at their beginning.",
    )


class TeiRankSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Its place in the request, from 0.")
    score = serializers.FloatField()
    text = serializers.CharField(required=False)


class TeiErrorSerializer(serializers.Serializer[Any]):
    error = serializers.CharField(help_text="One sentence that says what to do.")
    error_type = serializers.ChoiceField(choices=ERROR_TYPES)


def is_for_tei(body: Any) -> bool:
    """Whether a body is in this form; one with `documents` is in Ragsite's own, whatever else it has."""
    return isinstance(body, Mapping) and "texts" in body and "documents" not in body


def rerank_as_tei(body: Any) -> Response:
    """The answer to a body in this form, mistakes of the caller and failures of the model among them."""
    texts = body["texts"]
    if texts == []:
        return _error("Empty", "`texts` cannot be empty.")
    if isinstance(texts, list) and len(texts) > MOST_DOCUMENTS:
        return _error("Validation", f"Send at most {MOST_DOCUMENTS} texts, not {len(texts)}.", status=413)
    request = TeiRerankSerializer(data=body)
    try:
        request.is_valid(raise_exception=True)
        given = request.validated_data
        ranking = rank(query=given["query"], texts=given["texts"])
    except ValidationError as error:
        return _error("Validation", _sentence(error.detail))
    except Unavailable as error:
        return _unavailable(error)
    except ModelFailed as error:
        return _error("Backend", error.detail)
    except RagsiteError as error:
        return _error("Validation", error.detail)
    return Response(
        [
            {"index": one.index, "score": one.logit if given["raw_scores"] else one.probability}
            | ({"text": given["texts"][one.index]} if given["return_text"] else {})
            for one in ranking.ranked
        ]
    )


def _unavailable(error: Unavailable) -> Response:
    if error.code == "rerank_timeout":
        answer = _error("Overloaded", error.detail)
        answer["Retry-After"] = str(error.retry_after_seconds)
        return answer
    return _error("Unhealthy", error.detail)


def _error(kind: str, sentence: str, *, status: int | None = None) -> Response:
    return Response({"error": sentence, "error_type": kind}, status=status or STATUS[kind])


def _sentence(detail: Any, place: str = "") -> str:
    """The first message with the place that it is about, such as `texts.3: Not a valid string.`"""
    if isinstance(detail, Mapping):
        key, inner = next(iter(detail.items()))
        return _sentence(inner, ".".join(part for part in (place, str(key)) if part and part != "non_field_errors"))
    if isinstance(detail, list):
        return _sentence(detail[0], place)
    return sayable(f"{place}: {detail}" if place else str(detail))
