"""Requests that are no HTTP at all: they reach no application, and are answered as everything else is."""

from __future__ import annotations

import json

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

BODY = json.dumps(
    {
        "detail": "This is not a valid HTTP request. Percent-encode the address and keep it under 64 kB.",
        "code": "malformed_request",
    }
).encode()


class JsonErrorsProtocol(HttpToolsProtocol):
    """uvicorn's protocol, whose own answer to such a request is a line of plain text."""

    def send_400_response(self, msg: str) -> None:
        head = (
            "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + BODY)
        self.transport.close()
