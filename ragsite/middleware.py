"""What happens to a request before it is routed."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping
from typing import IO, Any
from urllib.parse import quote, unquote_to_bytes

import structlog
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, override

from core_app.errors import RagsiteError
from ingest_app.uploads import Files, parse_form

GetResponse = Callable[[HttpRequest], HttpResponse]

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_hostile_path(raw: bytes) -> bool:
    """Whether a path as it was sent could be read as another one after decoding.

    Servers decode `%2F` before routing, so `/collections/x%2Fdocuments%2Fall` would reach another
    resource than the one that was named; control bytes and invalid UTF-8 have no business in a path.
    """
    path = raw.split(b"?", 1)[0]
    if re.search(rb"%(2f|5c)", path, re.IGNORECASE) or b"\\" in path:
        return True
    decoded = unquote_to_bytes(path)
    if _CONTROL.search(decoded):
        return True
    try:
        decoded.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def raw_path(request: HttpRequest) -> bytes:
    """The path as it came over the wire, whichever kind of server took it."""
    scope = getattr(request, "scope", None)
    if scope is not None and scope.get("raw_path"):
        return bytes(scope["raw_path"])
    # A server that keeps no raw path has decoded it once already.
    given = request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or quote(request.path)
    return str(given).encode("utf-8", "surrogateescape")


class RawPathMiddleware:
    """Answers 400 to a path that decoding would turn into another."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_hostile_path(raw_path(request)):
            detail = "The path has an encoded slash, backslash or control character, or is not UTF-8. Use another name."
            return JsonResponse({"detail": detail, "code": "invalid_path"}, status=400)
        return self.get_response(request)


class BodyLengthMiddleware:
    """Gives a body that was sent in pieces its length; Django takes one without a length for empty.

    Under ASGI the body has arrived before any middleware runs, in memory or in a temporary file.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        arrived = getattr(request, "_stream", None)
        if arrived is not None and "CONTENT_LENGTH" not in request.META and "Transfer-Encoding" in request.headers:
            request.META["CONTENT_LENGTH"] = str(arrived.seek(0, os.SEEK_END))
            arrived.seek(0)
        return self.get_response(request)


class ContentEncodingMiddleware:
    """Refuses bodies that are compressed: taken for plain ones they would be called malformed."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        encoding = request.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in {"", "identity"}:
            detail = "The body is compressed (Content-Encoding). Send it as it is, without that header."
            return JsonResponse({"detail": detail, "code": "unsupported_encoding"}, status=415)
        return self.get_response(request)


class RequestContextMiddleware:
    """Gives every request an id, in the log lines it causes and in `X-Request-Id` of the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        return response


class ContentSecurityPolicyMiddleware:
    """Scripts, styles, fonts and requests from this server only; no inline script anywhere.

    The console's Alpine compiles its expressions and so needs `unsafe-eval` under /admin/ alone.
    """

    POLICY = (
        "default-src 'self'; script-src 'self'{eval}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; "
        "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        console = request.path.startswith("/admin/")
        policy = self.POLICY.format(eval=" 'unsafe-eval'" if console else "")
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


class ConsoleLanguageMiddleware:
    """Shows the console in the browser's language, where there is a translation.

    Django's own middleware would do so everywhere. But programs read the API's sentences, and its answers
    would vary by a header that they never sent; and what it activates outlives the request on its thread.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/admin/"):
            return self.get_response(request)
        if "%00" in request.META.get("QUERY_STRING", ""):
            # No text that is stored has it, and Postgres takes it for none.
            raise SuspiciousOperation("NUL in the address")
        language = get_language_from_request(request)
        with override(language):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        response.headers.setdefault("Content-Language", language)
        return response


class FormMiddleware:
    """Has the console's forms read by the parser that the API uses, before anything looks at them."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        vars(request)["parse_file_upload"] = _read_form
        return self.get_response(request)


def _read_form(meta: Mapping[str, Any], stream: IO[bytes]) -> tuple[QueryDict, Files]:
    try:
        return parse_form(stream, str(meta.get("CONTENT_TYPE", "")))
    except RagsiteError as error:
        # Of all that can be wrong with a form Django expects this, whoever asks for a field first.
        raise MultiPartParserError(error.detail) from None
