"""MCP over HTTP: each request by itself, behind the same keys as the API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from access_app.api import ApiView
from access_app.authentication import authority_of
from access_app.models import Verb
from access_app.services import EVERYTHING, Caller
from core_app.api import ErrorSerializer
from core_app.errors import NotAllowed, TooLarge
from mcp_app.calling import identify

#: Of a message; the longest arguments of a tool fit many times.
MOST_BYTES = 1024 * 1024
PATH = "/mcp"


class AsItComes(BaseContentNegotiation):
    """The protocol's own library looks at what a client accepts."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        return next(iter(parsers))

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        first = next(iter(renderers))
        return first, first.media_type


class McpView(ApiView):
    """Streamable HTTP without sessions: a message is posted, its answer is JSON. There is no stream to open."""

    verbs = {"POST": Verb.SEARCH}
    content_negotiation_class = AsItComes

    @extend_schema(
        operation_id="mcp",
        summary="Tools for agents",
        description="A message of the Model Context Protocol, streamable HTTP; docs/mcp.md has the tools.",
        tags=["agents"],
        request=OpenApiTypes.OBJECT,
        responses={
            **dict.fromkeys((200, 400, 404, 406), OpenApiTypes.OBJECT),
            202: OpenApiResponse(description="A notification was taken."),
            **dict.fromkeys((401, 403, 413, 415, 500, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> HttpResponse:
        asked: HttpRequest = request._request
        origin = request.headers.get("Origin")
        if origin is not None and authority_of(origin) != asked.get_host():
            # A page of another site in somebody's browser; agents send none.
            raise NotAllowed("Requests of other sites are not answered.")
        if asked.content_type != "application/json":
            raise UnsupportedMediaType(str(asked.content_type))
        if len(asked.body) > MOST_BYTES:
            raise TooLarge(f"A message has at most {MOST_BYTES:,} bytes.")
        # One that needs no key asked for nothing: research is many searches, and asked for by a key's verb.
        who = self.caller
        who = replace(who, verbs=who.verbs - {Verb.RESEARCH.value}) if who is EVERYTHING else who
        token = identify.set(lambda: who)
        try:
            return async_to_sync(_answered)(asked, who)
        finally:
            identify.reset(token)


async def _answered(asked: HttpRequest, who: Caller) -> HttpResponse:
    """What the library answers, which is an ASGI application of its own for one request."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415 - heavy

    from mcp_app.server import server  # noqa: PLC0415 - heavy

    application = server(with_research=who.may(Verb.RESEARCH)).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MOST_BYTES,
        # Host, Origin and keys were looked at as for every other request.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    sent: list[MutableMapping[str, Any]] = []
    incoming: Iterator[MutableMapping[str, Any]] = iter(
        [{"type": "http.request", "body": asked.body, "more_body": False}]
    )

    async def receive() -> MutableMapping[str, Any]:
        return next(incoming, {"type": "http.disconnect"})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async with application.router.lifespan_context(application):
        await application(_scope(asked), receive, send)
    return _response(sent)


def _scope(asked: HttpRequest) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": asked.scheme,
        "path": PATH,
        "raw_path": PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in asked.headers.items()
        ],
        "client": None,
        "server": None,
    }


def _response(sent: Sequence[Mapping[str, Any]]) -> HttpResponse:
    if not sent:
        return JsonResponse({"detail": "This message has no answer here.", "code": "invalid"}, status=400)
    begun = sent[0]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in begun["headers"]}
    kept = {name: value for name, value in headers.items() if name.lower() in {"content-type", "allow"}}
    if begun["status"] >= 400 and not content:
        content = json.dumps({"detail": "The message could not be read.", "code": "invalid"}).encode()
    return HttpResponse(content, status=begun["status"], headers={**kept, "Cache-Control": "no-store"})
