"""Where a collection is searched, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer
from ingest_app.api import accepted
from ingest_app.models import Job
from ingest_app.move_jobs import HERE, moving_job, start_move
from ingest_app.serializers import JobSerializer
from stores_app.models import Placement
from stores_app.whereabouts import Described, Whereabouts, whereabouts

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


class PlaceSerializer(serializers.Serializer[Any]):
    service = serializers.CharField(help_text="The connection; `built-in` is this server.")
    name_there = serializers.CharField(help_text="The collection's name there.")
    state = serializers.ChoiceField(choices=Placement.State.choices)
    waiting = serializers.IntegerField(help_text="Changes that were not sent yet; searches find them all the same.")
    refused = serializers.IntegerField(help_text="Chunks that are not taken there; searches find them all the same.")
    problem = serializers.CharField(allow_null=True, help_text="Why changes could not be sent.")
    delivered_at = serializers.DateTimeField(allow_null=True, help_text="When some were sent last.")


class PlacementSerializer(serializers.Serializer[Any]):
    searched = PlaceSerializer(help_text="Where searches look.")
    moving_to = PlaceSerializer(allow_null=True, help_text="Where it is brought; null where it stays.")
    held_here = serializers.BooleanField(help_text="Whether its documents are here. They are, unless it was attached.")
    job = serializers.UUIDField(allow_null=True, help_text="The job that moves it, while it is on its way.")


class MoveSerializer(StrictSerializer):
    service = StrictCharField(max_length=100, help_text="A connection; `built-in` brings it back.")
    name_there = StrictCharField(
        required=False, trim_whitespace=False, max_length=512, help_text="Its name there; its own by default."
    )


class PlacementView(ApiView):
    """Where the vectors of a collection are searched."""

    verbs = {"GET": Verb.READ, "PUT": Verb.ADMIN}

    @extend_schema(
        operation_id="get_placement",
        summary="Show where a collection is searched",
        tags=["connections"],
        responses={200: PlacementSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_present(whereabouts(name=name), moving_job(name=name)))

    @extend_schema(
        operation_id="move_collection",
        summary="Have a collection searched elsewhere, or here again",
        description="A job brings it there; searches and writes go on meanwhile. Everything of it stays here as well.",
        tags=["connections"],
        request=MoveSerializer,
        responses={202: JobSerializer, **ERRORS, **dict.fromkeys((409, 413, 415, 503), ErrorSerializer)},
    )
    def put(self, request: Request, name: str) -> Response:
        body = MoveSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        service, there = body.validated_data["service"], body.validated_data.get("name_there") or name
        if service != HERE:
            # What is written there is a collection of this name, which the gateway keeps from other keys.
            self.caller.require(Verb.ADMIN, there)
        return accepted(start_move(name=name, service=service, name_there=there))


def _present(found: Whereabouts, job: Job | None) -> dict[str, Any]:
    return {
        "searched": _place(found.searched),
        "moving_to": None if found.moving_to is None else _place(found.moving_to),
        "held_here": found.is_held_here,
        "job": job and str(job.pk),
    }


def _place(place: Described) -> dict[str, Any]:
    return {
        "service": place.service,
        "name_there": place.name_there,
        "state": place.state,
        "waiting": place.waiting,
        "refused": place.refused,
        "problem": place.problem or None,
        "delivered_at": place.delivered_at,
    }
