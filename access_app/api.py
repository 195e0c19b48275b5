"""The views that the rooms' own views derive from, and how the API's schema describes keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from access_app.authentication import OptionalKeyAuthentication
from access_app.models import Verb
from access_app.services import Caller
from core_app.api import reject_unstorable
from core_app.errors import InvalidInput, NotAuthenticated


class ApiView(APIView):
    """A view for programs. `verbs` names, method by method, what a key must allow, `parameters` what may be asked."""

    verbs: ClassVar[dict[str, Verb]]
    parameters: ClassVar[Mapping[str, Collection[str]]] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse parameters of the address that would be ignored, or that Postgres could not take as text."""
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else str(request.method)
        if not hasattr(self, method.lower()) or method == "OPTIONS":
            return  # 405, or what the view itself says of its methods
        known = self.parameters.get(method, ())
        for name, values in request.query_params.lists():
            if name not in known:
                allowed = f"Known here: {', '.join(known)}." if known else "This call takes none."
                raise InvalidInput(f"Unknown query parameter '{name[:100]}'. {allowed}", code="unknown_parameter")
            if len(values) > 1:
                raise InvalidInput(f"Send the query parameter '{name}' once.", code="repeated_parameter")
            reject_unstorable(values[0], name)

    @property
    def caller(self) -> Caller:
        """Who is calling; set by authentication before any handler runs."""
        caller = self.request.auth
        if not isinstance(caller, Caller):
            raise NotAuthenticated("Send an API key: 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'.")
        return caller


class PublicView(APIView):
    """A view that everybody may call. Each subclass is named in the test that guards this."""

    authentication_classes = [OptionalKeyAuthentication]
    permission_classes = [AllowAny]


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document describes keys."""

    target_class = "access_app.authentication.ApiKeyAuthentication"
    name = ["bearerKey", "headerKey"]
    match_subclasses = True

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`"},
            {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        ]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        """Either header is enough; in one object they would be asked for together."""
        return [{name: []} for name in self.name]
