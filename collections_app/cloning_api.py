"""Copying a collection, over HTTP."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.api import ERRORS, CollectionSerializer, present
from collections_app.cloning import clone_collection
from core_app.api import StrictCharField, StrictSerializer


class CloneSerializer(StrictSerializer):
    name = StrictCharField(trim_whitespace=False, max_length=512, help_text="Of the copy.")


class CloneView(ApiView):
    """A copy of a collection under another name."""

    verbs = {"POST": Verb.WRITE}

    @extend_schema(
        operation_id="clone_collection",
        summary="Copy a collection",
        description="With its documents, vectors, metadata and settings, as they are; its other names and connectors "
        "stay with the original. All is copied or nothing, and at most 10,000 chunks and 10,000 documents.",
        tags=["collections"],
        request=CloneSerializer,
        responses={201: CollectionSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        body = CloneSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        new_name = body.validated_data["name"]
        # Who reads the copy reads the original: a key that may only write it must not bring it within another's reach.
        self.caller.require(Verb.READ, name)
        self.caller.require(Verb.WRITE, new_name)
        return Response(present(clone_collection(name=name, new_name=new_name)), status=201)
