"""Attaching a collection of a connection, over HTTP."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from access_app.patterns import WHOLE_SERVER
from collections_app.api import CollectionSerializer, present
from collections_app.selectors import get_summary
from core_app.api import StrictCharField, StrictSerializer
from gateway_app.api import ERRORS
from stores_app.attaching import attach_collection


class AttachSerializer(StrictSerializer):
    name_there = StrictCharField(trim_whitespace=False, max_length=512, help_text="Of the collection of the service.")
    name = StrictCharField(trim_whitespace=False, max_length=512, help_text="Of the new collection here.")
    embedding_model = StrictCharField(
        required=False,
        help_text="Set it where the server's model made the vectors there: then text finds them.",
    )


class AttachView(ApiView):
    """A collection here that stands for one of a connection."""

    verbs = {"POST": Verb.ADMIN}

    @extend_schema(
        operation_id="attach_collection",
        summary="Search a collection of a connection as it is",
        description="The new collection has no documents here: it is searched there, by meaning alone, and written "
        "there. Deleting it leaves the other system as it is.",
        tags=["connections"],
        request=AttachSerializer,
        responses={201: CollectionSerializer, **ERRORS},
    )
    def post(self, request: Request, connection: str) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        body = AttachSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        made = attach_collection(service=connection, **body.validated_data)
        return Response(present(get_summary(name=made.name)), status=201)
