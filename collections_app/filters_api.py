"""Fields to filter by, filters tried and filters kept by name, over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.fields import (
    MOST_SUGGESTED,
    Field,
    ValueCount,
    observed_fields,
    suggest_values,
    text_operators,
)
from collections_app.filters import delete_filter, get_filter, list_filters, read_filter, rename_filter, save_filter
from collections_app.models import NamedFilter
from collections_app.previewing import FilterPreview, preview_filter
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer, WhereField
from core_app.errors import InvalidInput
from core_app.names import MAX_NAME_LENGTH
from core_app.where.wording import in_words, missing_keys

READ_ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
ERRORS = dict.fromkeys((400, 401, 403, 404, 413, 415, 500, 503), ErrorSerializer)

FILTER = OpenApiParameter(
    "filter", str, description="A filter that the collection keeps by this name; with another filter, both must hold."
)


class FilterNameField(StrictCharField):
    """`filter` of a body: the name of a kept filter; the validated value stands under `filter_name`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            **{
                "required": False,
                "source": "filter_name",
                "trim_whitespace": False,
                "max_length": MAX_NAME_LENGTH,
                "help_text": "A filter that is kept by this name; with `where`, both must hold.",
                **kwargs,
            }
        )


class GivenWhereField(WhereField):
    """A filter that is kept as it was sent; the service reads it."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return serializers.Field.run_validation(self, data) if data is serializers.empty else data


class ValueCountOfFieldSerializer(serializers.Serializer[Any]):
    value = serializers.JSONField(help_text="A string, a number or a truth value.")
    count = serializers.IntegerField(help_text="Of the chunks that were looked at.")


class FieldSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    types = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many chunks have a value of which type: `string`, `date` (a string in ISO 8601), `number`, "
        "`boolean`, `array`, `object`, `null`.",
    )
    element_types = serializers.DictField(child=serializers.IntegerField(), help_text="The same of what is in lists.")
    missing = serializers.IntegerField(help_text="Chunks that lack the key.")
    operators = serializers.ListField(
        child=serializers.CharField(), help_text="Those that make sense; none where a filter cannot ask for the key."
    )
    values = ValueCountOfFieldSerializer(many=True, help_text="The most frequent first, lists unfolded.")


class FieldsSerializer(serializers.Serializer[Any]):
    fields = FieldSerializer(many=True)  # type: ignore[assignment]  # the API's word
    text_operators = serializers.ListField(child=serializers.CharField(), help_text="Those behind `#document`.")
    rows = serializers.IntegerField(help_text="Chunks that were looked at.")
    sampled = serializers.BooleanField(help_text="Whether those are only some of the collection's.")
    truncated = serializers.BooleanField(help_text="Whether there are more fields.")


class FieldValuesSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    values = ValueCountOfFieldSerializer(many=True)
    sampled = serializers.BooleanField(help_text="Whether only some of the collection's chunks were looked at.")


class FilterTrialSerializer(StrictSerializer):
    where = WhereField()


class MissingSerializer(serializers.Serializer[Any]):
    condition = serializers.CharField()
    field = serializers.CharField()
    passes = serializers.BooleanField(help_text="Whether documents without the key pass.")
    sentence = serializers.CharField()


class PreviewedChunkSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    text = serializers.CharField()
    metadata = serializers.DictField()


class FilterPreviewSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(allow_null=True, help_text="Null where not even an estimate could be made.")
    capped = serializers.BooleanField(help_text="Whether there are more: none beyond 10,000 is counted.")
    estimated = serializers.BooleanField(help_text="Whether `count` was judged by some chunks only.")
    sampled = serializers.IntegerField(help_text="By how many.")
    everything = serializers.BooleanField(help_text="Whether the filter is empty, so that every chunk passes.")
    meaning = serializers.CharField(help_text="The filter in words.")
    missing = MissingSerializer(many=True, help_text="What each condition makes of documents without its key.")
    documents = PreviewedChunkSerializer(many=True, help_text="Some that pass, at most five.")


class FilterSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    where = serializers.DictField()
    description = serializers.CharField(allow_blank=True)
    meaning = serializers.CharField(help_text="The filter in words.")
    missing = MissingSerializer(many=True, help_text="What each condition makes of documents without its key.")
    problem = serializers.CharField(
        allow_null=True, help_text="Why it cannot be used, and what to do; null where it can, and `meaning` says how."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class FilterListSerializer(serializers.Serializer[Any]):
    filters = FilterSerializer(many=True)
    count = serializers.IntegerField()


class FilterRequestSerializer(StrictSerializer):
    where = GivenWhereField()
    description = StrictCharField(required=False, allow_blank=True, help_text="What it is for.")


class FilterChangeSerializer(StrictSerializer):
    name = StrictCharField(trim_whitespace=False, help_text="Its new name.")


class FilterDeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    filter = serializers.CharField()


def present_filter(row: NamedFilter) -> dict[str, Any]:
    """A kept filter as the API shows it."""
    where, problem = read_filter(row)
    return {
        "name": row.name,
        "where": row.where,
        "description": row.description,
        "meaning": "" if problem else in_words(where),
        "missing": [{**asdict(one), "sentence": one.sentence} for one in missing_keys(where)],
        "problem": problem or None,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _present_values(values: Any) -> list[dict[str, Any]]:
    found: list[ValueCount] = list(values)
    return [{"value": one.value, "count": one.count} for one in found]


def _present_field(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "types": field.types,
        "element_types": field.element_types,
        "missing": field.missing,
        "operators": field.operators,
        "values": _present_values(field.values),
    }


def _present_preview(found: FilterPreview) -> dict[str, Any]:
    return {
        "count": found.count,
        "capped": found.is_capped,
        "estimated": found.is_estimate,
        "sampled": found.sampled,
        "everything": found.is_everything,
        "meaning": found.meaning,
        "missing": [{**asdict(one), "sentence": one.sentence} for one in found.missing],
        "documents": [{"id": one.id, "text": one.text, "metadata": one.metadata} for one in found.chunks],
    }


class FieldsView(ApiView):
    """What a collection can be filtered by."""

    verbs = {"GET": Verb.READ}

    @extend_schema(
        operation_id="list_fields",
        summary="List the fields of the metadata",
        tags=["filters"],
        responses={200: FieldsSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        found = observed_fields(collection_name=name)
        return Response(
            {
                "fields": [_present_field(one) for one in found.fields],
                "text_operators": text_operators(),
                "rows": found.rows,
                "sampled": found.is_sample,
                "truncated": found.is_cut,
            }
        )


class FieldValuesView(ApiView):
    """Values of a field for what was typed so far."""

    verbs = {"GET": Verb.READ}
    parameters = {"GET": ("field", "typed")}

    @extend_schema(
        operation_id="suggest_field_values",
        summary="Values of a field that hold what was typed",
        description=f"At most {MOST_SUGGESTED}: those that begin with it first, then the most frequent.",
        tags=["filters"],
        parameters=[
            OpenApiParameter("field", str, required=True),
            OpenApiParameter("typed", str, description="Its case does not matter. Left out: the most frequent values."),
        ],
        responses={200: FieldValuesSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        key = request.query_params.get("field", "")
        if not key:
            raise InvalidInput("Query parameter 'field' is required.", code="field_required")
        found = suggest_values(collection_name=name, key=key, typed=request.query_params.get("typed", ""))
        return Response({"field": key, "values": _present_values(found.values), "sampled": found.is_sample})


class FilterPreviewView(ApiView):
    """What a filter would let through."""

    verbs = {"POST": Verb.READ}

    @extend_schema(
        operation_id="preview_filter",
        summary="Try a filter",
        description="Changes nothing. What takes too long to count is estimated, and `estimated` says so.",
        tags=["filters"],
        request=FilterTrialSerializer,
        responses={200: FilterPreviewSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        body = FilterTrialSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_present_preview(preview_filter(collection_name=name, where=body.validated_data["where"])))


class FiltersView(ApiView):
    """The filters that a collection keeps."""

    verbs = {"GET": Verb.READ}

    @extend_schema(
        operation_id="list_filters",
        summary="List the filters that are kept",
        tags=["filters"],
        responses={200: FilterListSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        found = [present_filter(row) for row in list_filters(collection_name=name)]
        return Response({"filters": found, "count": len(found)})


class FilterView(ApiView):
    """One of them."""

    verbs = {"GET": Verb.READ, "PUT": Verb.WRITE, "PATCH": Verb.WRITE, "DELETE": Verb.WRITE}

    @extend_schema(
        operation_id="get_filter",
        summary="Show a filter that is kept",
        tags=["filters"],
        responses={200: FilterSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str, filter_name: str) -> Response:
        return Response(present_filter(get_filter(collection_name=name, name=filter_name)))

    @extend_schema(
        operation_id="save_filter",
        summary="Keep a filter by name",
        description="What had the name is replaced. Searches that call it use the new one from then on.",
        tags=["filters"],
        request=FilterRequestSerializer,
        responses={200: FilterSerializer, 201: FilterSerializer, **ERRORS},
    )
    def put(self, request: Request, name: str, filter_name: str) -> Response:
        body = FilterRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        row, is_new = save_filter(
            collection_name=name, name=filter_name, where=given["where"], description=given.get("description")
        )
        return Response(present_filter(row), status=201 if is_new else 200)

    @extend_schema(
        operation_id="rename_filter",
        summary="Rename a filter",
        description="Searches that call it by the old name are refused from then on.",
        tags=["filters"],
        request=FilterChangeSerializer,
        responses={200: FilterSerializer, 409: ErrorSerializer, **ERRORS},
    )
    def patch(self, request: Request, name: str, filter_name: str) -> Response:
        body = FilterChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        row = rename_filter(collection_name=name, name=filter_name, new_name=body.validated_data["name"])
        return Response(present_filter(row))

    @extend_schema(
        operation_id="delete_filter",
        summary="Forget a filter",
        tags=["filters"],
        responses={200: FilterDeletedSerializer, **READ_ERRORS},
    )
    def delete(self, request: Request, name: str, filter_name: str) -> Response:
        delete_filter(collection_name=name, name=filter_name)
        return Response({"status": "deleted", "filter": filter_name})
