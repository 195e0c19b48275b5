"""Copying a collection, over HTTP."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.api import ERRORS, CollectionSerializer, present
from collections_app.cloning import Along
from core_app.api import StrictBooleanField, StrictCharField, StrictSerializer
from ingest_app.api import accepted
from ingest_app.copy_jobs import start_copy
from ingest_app.models import Job
from ingest_app.serializers import JobSerializer


class CloneSerializer(StrictSerializer):
    name = StrictCharField(trim_whitespace=False, max_length=512, help_text="Of the copy.")
    filters = StrictBooleanField(default=True, help_text="Whether the filters that are kept with it are copied.")
    test_cases = StrictBooleanField(default=True, help_text="Whether its test cases are, with what was judged.")


class CloneView(ApiView):
    """A copy of a collection under another name."""

    verbs = {"POST": Verb.WRITE}

    @extend_schema(
        operation_id="clone_collection",
        summary="Copy a collection",
        description="With its documents, vectors, metadata and settings, as they are; its other names and connectors "
        "stay with the original. All is copied or nothing. More than 10,000 chunks or documents are copied by a job: "
        "the answer is 202, and the copy is there when the job has succeeded.",
        tags=["collections"],
        request=CloneSerializer,
        responses={201: CollectionSerializer, 202: JobSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        body = CloneSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        # Who reads the copy reads the original: a key that may only write it must not bring it within another's reach.
        self.caller.require(Verb.READ, name)
        self.caller.require(Verb.WRITE, asked["name"])
        along = Along(filters=asked["filters"], test_cases=asked["test_cases"])
        made = start_copy(name=name, new_name=asked["name"], along=along)
        return accepted(made) if isinstance(made, Job) else Response(present(made), status=201)
