"""MCP over HTTP: each request by itself, behind the same keys as the API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from access_app.api import ApiView
from access_app.models import Verb
from access_app.services import Caller
from core_app.errors import TooLarge
from mcp_app.calling import caller

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


@extend_schema(exclude=True)
class McpView(ApiView):
    """Streamable HTTP without sessions: a message is posted, its answer is JSON. There is no stream to open."""

    verbs = {"POST": Verb.SEARCH}
    content_negotiation_class = AsItComes

    def post(self, request: Request) -> HttpResponse:
        asked: HttpRequest = request._request
        if len(asked.body) > MOST_BYTES:
            raise TooLarge(f"A message has at most {MOST_BYTES:,} bytes.")
        token = caller.set(self.caller)
        try:
            return async_to_sync(_answered)(asked, self.caller)
        finally:
            caller.reset(token)


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
    begun = sent[0]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in begun["headers"]}
    kept = {name: value for name, value in headers.items() if name.lower() in {"content-type", "allow"}}
    if begun["status"] >= 400 and not content:
        content = json.dumps({"detail": "The message could not be read.", "code": "invalid"}).encode()
    return HttpResponse(content, status=begun["status"], headers={**kept, "Cache-Control": "no-store"})
