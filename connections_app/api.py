"""Providers and connections over HTTP (A1, A2)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from access_app.patterns import WHOLE_SERVER
from connections_app.health import health_of, try_out
from connections_app.models import Connection
from connections_app.registry import Listed, listed
from connections_app.services import (
    Described,
    change_connection,
    create_connection,
    delete_connection,
    describe,
    get_connection,
    list_connections,
)
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer, reject_unstorable
from core_app.errors import InvalidInput
from core_app.model_providers import ProviderKind
from core_app.providers import MEANINGS, Capability, ProviderHealth

ERRORS = dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 500, 503), ErrorSerializer)
READ_ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)


KINDS = [one.value for one in ProviderKind]


class SettingsField(serializers.JSONField):
    """A JSON object; what may stand in it the provider's schema says."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Send a JSON object.")
        reject_unstorable(data, self.field_name or "settings")
        return data


class ProviderSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field has a label, too
    is_built_in = serializers.BooleanField(help_text="This server's own store, to which no connection leads.")
    is_installed = serializers.BooleanField()
    install_command = serializers.CharField(
        allow_null=True, help_text="What brings its client, there or not; null where it needs none."
    )
    kind = serializers.ChoiceField(
        choices=KINDS, allow_null=True, help_text="What its connections bring; null where it cannot be used."
    )
    is_usable = serializers.BooleanField()
    reason = serializers.CharField(
        allow_null=True, help_text="Why it cannot be used, and what to do; null where it can."
    )
    capabilities = serializers.ListField(child=serializers.ChoiceField(choices=[one.value for one in Capability]))
    capability_sentences = serializers.DictField(
        child=serializers.CharField(), help_text="What each of its capabilities means."
    )
    connection_schema = serializers.DictField(
        allow_null=True,
        help_text="JSON Schema of a connection's settings; secrets are `writeOnly`. Null where there are none.",
    )


class ProviderListSerializer(serializers.Serializer[Any]):
    providers = ProviderSerializer(many=True)
    count = serializers.IntegerField()


class ConnectionHealthSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("healthy", "unhealthy"))
    checked_at = serializers.DateTimeField()
    error = serializers.CharField(allow_null=True)
    details = serializers.DictField(help_text="What the service says of itself.")


class ConnectionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    provider = serializers.CharField()
    kind = serializers.ChoiceField(
        choices=KINDS, allow_null=True, help_text="What it brings; null where its provider cannot be used."
    )
    capabilities = serializers.ListField(child=serializers.ChoiceField(choices=[one.value for one in Capability]))
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ConnectionInListSerializer(ConnectionSerializer):
    health = ConnectionHealthSerializer()


class WholeConnectionSerializer(ConnectionSerializer):
    settings = serializers.DictField(help_text="`********` stands for a secret.")


class ConnectionListSerializer(serializers.Serializer[Any]):
    connections = ConnectionInListSerializer(many=True)
    count = serializers.IntegerField()


class NewConnectionSerializer(StrictSerializer):
    name = StrictCharField(max_length=100)
    provider = StrictCharField(max_length=100)
    settings = SettingsField(default=dict)


class ConnectionChangeSerializer(StrictSerializer):
    name = StrictCharField(required=False, max_length=100)
    settings = SettingsField(
        required=False, help_text="All of them; `********` keeps a secret, unless the address is another."
    )


class ConnectionDeletedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    connection = serializers.CharField()


def present_provider(one: Listed) -> dict[str, Any]:
    """A provider as the API shows it."""
    return {
        "name": one.name,
        "label": one.label,
        "is_built_in": one.is_built_in,
        "is_installed": one.is_installed,
        "install_command": one.install_command or None,
        "kind": one.kind,
        "is_usable": one.provider is not None,
        "reason": one.reason or None,
        "capabilities": one.capabilities,
        "capability_sentences": {capability.value: MEANINGS[capability] for capability in one.capabilities},
        "connection_schema": one.connection_schema,
    }


def present_health(health: ProviderHealth) -> dict[str, Any]:
    """Health as the API shows it (A2.3)."""
    return {
        "status": "healthy" if health.is_healthy else "unhealthy",
        "checked_at": health.checked_at,
        "error": health.error or None,
        "details": dict(health.details),
    }


def present(described: Described) -> dict[str, Any]:
    """A connection without its settings."""
    connection = described.connection
    return {
        "name": connection.name,
        "provider": connection.provider,
        "kind": described.listed.kind if described.listed else None,
        "capabilities": described.listed.capabilities if described.listed else [],
        "created_at": connection.created_at,
        "updated_at": connection.updated_at,
    }


def _whole(connection: Connection) -> dict[str, Any]:
    described = describe(connection=connection)
    return {**present(described), "settings": dict(described.settings)}


class ProvidersView(ApiView):
    """A1.2: which providers there are."""

    verbs = {"GET": Verb.READ}

    @extend_schema(
        operation_id="list_providers",
        summary="List providers",
        tags=["connections"],
        responses={200: ProviderListSerializer, **READ_ERRORS},
    )
    def get(self, request: Request) -> Response:
        shown = [present_provider(one) for one in listed().values()]
        return Response({"providers": shown, "count": len(shown)})


class ConnectionsView(ApiView):
    """The configured connections. Their settings are for administrators."""

    verbs = {"GET": Verb.READ, "POST": Verb.ADMIN}

    @extend_schema(
        operation_id="list_connections",
        summary="List connections with their health",
        tags=["connections"],
        responses={200: ConnectionListSerializer, **READ_ERRORS},
    )
    def get(self, request: Request) -> Response:
        self.caller.require(Verb.READ, WHOLE_SERVER)
        found = list_connections()
        health = health_of(connections=[one.connection for one in found])
        shown = [{**present(one), "health": present_health(its)} for one, its in zip(found, health, strict=True)]
        return Response({"connections": shown, "count": len(shown)})

    @extend_schema(
        operation_id="create_connection",
        summary="Make a connection",
        tags=["connections"],
        request=NewConnectionSerializer,
        responses={201: WholeConnectionSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        body = NewConnectionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_whole(create_connection(**body.validated_data)), status=201)


class ConnectionView(ApiView):
    """One connection, with its settings but for the secrets."""

    verbs = {"GET": Verb.ADMIN, "PATCH": Verb.ADMIN, "DELETE": Verb.ADMIN}

    @extend_schema(
        operation_id="get_connection",
        summary="Show a connection",
        tags=["connections"],
        responses={200: WholeConnectionSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, connection: str) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        return Response(_whole(get_connection(name=connection)))

    @extend_schema(
        operation_id="change_connection",
        summary="Rename a connection, set its settings",
        tags=["connections"],
        request=ConnectionChangeSerializer,
        responses={200: WholeConnectionSerializer, **ERRORS},
    )
    def patch(self, request: Request, connection: str) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        body = ConnectionChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        if not given:
            raise InvalidInput("Send 'name' or 'settings'.", code="nothing_sent")
        changed = change_connection(name=connection, new_name=given.get("name"), settings=given.get("settings"))
        return Response(_whole(changed))

    @extend_schema(
        operation_id="delete_connection",
        summary="Remove a connection",
        description="What the service holds stays there.",
        tags=["connections"],
        responses={200: ConnectionDeletedSerializer, **ERRORS},
    )
    def delete(self, request: Request, connection: str) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        delete_connection(name=connection)
        return Response({"status": "deleted", "connection": connection})


class ConnectionTestView(ApiView):
    """A2.3: how the service is now; a model is given one short text."""

    verbs = {"POST": Verb.ADMIN}

    @extend_schema(
        operation_id="test_connection",
        summary="Ask a connection's service how it is",
        tags=["connections"],
        request=None,
        responses={200: ConnectionHealthSerializer, **ERRORS},
    )
    def post(self, request: Request, connection: str) -> Response:
        self.caller.require(Verb.ADMIN, WHOLE_SERVER)
        return Response(present_health(try_out(connection=get_connection(name=connection))))
