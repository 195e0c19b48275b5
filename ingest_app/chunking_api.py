"""How a collection's texts are cut, over HTTP: shown, changed, and tried on a text beforehand."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictIntegerField, StrictSerializer
from core_app.errors import InvalidInput
from ingest_app.chunking_settings import LARGEST, SMALLEST, Strategy
from ingest_app.previewing import Preview, preview_source, preview_text
from ingest_app.rechunking import ChunkingState, chunking_state, set_chunking
from ingest_app.serializers import CleanedCharField

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
#: Passages that a preview shows; it counts all of them.
SHOWN = 200


class ChunkingSerializer(StrictSerializer):
    strategy = serializers.ChoiceField(choices=list(Strategy), required=False, help_text="`structure` unless set.")
    size = StrictIntegerField(
        required=False, min_value=SMALLEST, max_value=LARGEST, help_text="Most tokens of one passage."
    )
    overlap = StrictIntegerField(
        required=False, min_value=0, max_value=LARGEST // 2, help_text="Tokens a passage repeats; at most half of size."
    )
    parent_size = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LARGEST,
        help_text="Searches show the neighbours around a passage, at most so many tokens, at least `size`. 0: not.",
    )


class ChunkingStateSerializer(serializers.Serializer[Any]):
    strategy = serializers.ChoiceField(choices=list(Strategy))
    size = serializers.IntegerField()
    overlap = serializers.IntegerField()
    parent_size = serializers.IntegerField(allow_null=True, help_text="Null: a search shows the passage itself.")
    own = ChunkingSerializer(help_text="What the collection itself says; what it leaves out is the server's setting.")
    documents = serializers.IntegerField()
    outdated = serializers.IntegerField(help_text="Documents that are cut by another setting still.")
    job = serializers.UUIDField(allow_null=True, help_text="The job that cuts them anew, while it is on its way.")


class PreviewRequestSerializer(StrictSerializer):
    chunking = ChunkingSerializer(required=False, help_text="Left out: as the collection does now.")
    text = CleanedCharField(required=False, trim_whitespace=False, help_text="A text to cut.")
    name = CleanedCharField(
        required=False, default="text.md", max_length=255, help_text="Its extension says what the text is."
    )
    source = CleanedCharField(required=False, help_text="Or a document of the collection.")  # type: ignore[assignment]  # the API's word


class PassageSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    text = serializers.CharField()
    section = serializers.CharField(allow_blank=True)
    page_number = serializers.IntegerField(allow_null=True)
    start = serializers.IntegerField(help_text="In characters of the document's text.")
    end = serializers.IntegerField()
    tokens = serializers.IntegerField()
    parent_index = serializers.IntegerField(allow_null=True, help_text="Its place in `parents`; null without parents.")


class PreviewedParentSerializer(serializers.Serializer[Any]):
    start = serializers.IntegerField(help_text="In characters of the document's text.")
    end = serializers.IntegerField()
    tokens = serializers.IntegerField()
    first = serializers.IntegerField(help_text="Index of the first passage that shares it.")
    last = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Any]):
    strategy = serializers.ChoiceField(choices=list(Strategy))
    size = serializers.IntegerField()
    overlap = serializers.IntegerField()
    parent_size = serializers.IntegerField(allow_null=True)
    count = serializers.IntegerField(help_text=f"All passages; the first {SHOWN} are shown.")
    smallest = serializers.IntegerField(help_text="In tokens.")
    median = serializers.FloatField()
    largest = serializers.IntegerField()
    chunks = PassageSerializer(many=True)
    parents = PreviewedParentSerializer(many=True, help_text="Of the passages that are shown.")


class ChunkingView(ApiView):
    """The way a collection's texts are cut."""

    verbs = {"GET": Verb.READ, "PUT": Verb.WRITE}

    @extend_schema(
        operation_id="get_chunking",
        summary="Show how texts are cut",
        tags=["ingestion"],
        responses={200: ChunkingStateSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_present(chunking_state(name=name)))

    @extend_schema(
        operation_id="set_chunking",
        summary="Change how texts are cut",
        description=(
            "Documents that are cut otherwise are cut anew by a job; until its turn comes each is found as it was. "
            "`{}` goes back to the server's settings."
        ),
        tags=["ingestion"],
        request=ChunkingSerializer,
        responses={200: ChunkingStateSerializer, **ERRORS, **dict.fromkeys((413, 415, 503), ErrorSerializer)},
    )
    def put(self, request: Request, name: str) -> Response:
        body = ChunkingSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_present(set_chunking(name=name, own=body.validated_data)))


class ChunkingPreviewView(ApiView):
    """What a way of cutting would make of a text."""

    verbs = {"POST": Verb.READ}

    @extend_schema(
        operation_id="preview_chunking",
        summary="Try a way of cutting",
        tags=["ingestion"],
        request=PreviewRequestSerializer,
        responses={
            200: OpenApiResponse(PreviewSerializer, "The passages; nothing was changed."),
            **ERRORS,
            **dict.fromkeys((409, 413, 415), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        body = PreviewRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        if ("text" in given) == ("source" in given):
            raise InvalidInput("Send either 'text' or the 'source' of a document.", code="invalid")
        own = given.get("chunking")
        if "source" in given:
            found = preview_source(name=name, own=own, source=given["source"])
        else:
            found = preview_text(name=name, own=own, text=given["text"], text_name=given["name"])
        return Response(_present_preview(found))


def _present(state: ChunkingState) -> dict[str, Any]:
    return {
        **state.chunking.as_json(),
        "own": dict(state.own),
        "documents": state.documents,
        "outdated": state.outdated,
        "job": state.job and str(state.job.pk),
    }


def _present_preview(found: Preview) -> dict[str, Any]:
    parents = [parent for parent in found.parents if parent.first < SHOWN]
    place = {ordinal: n for n, parent in enumerate(parents) for ordinal in range(parent.first, parent.last + 1)}
    passages = [
        {
            "index": part.ordinal,
            "text": part.text,
            "section": " > ".join(part.section),
            "page_number": part.page,
            "start": part.start,
            "end": part.end,
            "tokens": tokens,
            "parent_index": place.get(part.ordinal),
        }
        for part, tokens in zip(found.chunks[:SHOWN], found.tokens[:SHOWN], strict=True)
    ]
    return {
        **found.chunking.as_json(),
        "count": len(found.chunks),
        "smallest": min(found.tokens),
        "median": median(found.tokens),
        "largest": max(found.tokens),
        "chunks": passages,
        "parents": [asdict(parent) for parent in parents],
    }
