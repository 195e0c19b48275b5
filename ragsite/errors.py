"""The one place where an error becomes an HTTP answer: `{"detail": sentence, "code": machine code}`."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.urls import Resolver404
from django.views.decorators.cache import never_cache
from django.views.defaults import permission_denied, server_error
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from core_app import errors
from core_app.api import sayable
from core_app.database_errors import of_database

logger = logging.getLogger(__name__)

STATUS: dict[type[errors.RagsiteError], int] = {
    errors.InvalidInput: 400,
    errors.NotAuthenticated: 401,
    errors.NotAllowed: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.UnsupportedType: 415,
    errors.TooManyRequests: 429,
    errors.Unavailable: 503,
    errors.ModelFailed: 500,
    errors.StoreFailed: 500,
    errors.FarSideFailed: 502,
    errors.FarSideSlow: 504,
}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Answer any exception of an API view; nothing of its cause leaves unless it was meant to (NFR-001)."""
    set_rollback()
    status, body, headers = _answer(error)
    codes = getattr(context.get("view"), "codes", {})
    if not str(body["code"]).startswith("RAG-ERR"):
        body["code"] = codes.get(status, body["code"])
    response = Response(body, status=status, headers=headers)
    if status >= 500:
        more = {"view": type(context.get("view")).__name__, "status": status}
        if isinstance(error, errors.Unavailable) and error.__cause__ is None:
            # Too much at once, or a model that nobody asked for: nothing broke, so there is no trace to look at, and
            # Django need not log it as an error of the server.
            logger.warning("request refused: %s", error.detail, extra=more)
            response._has_been_logged = True  # type: ignore[attr-defined]
        else:
            logger.error("request failed", extra=more, exc_info=error)
    return response


def _answer(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    if isinstance(error, errors.RagsiteError):
        return _ours(error)
    if isinstance(error, exceptions.APIException):
        return _rest_framework(error)
    if isinstance(error, Http404):
        return 404, _body("There is nothing at this address.", "not_found"), {}
    if isinstance(error, PermissionDenied):
        return 403, _body("This is not allowed.", "not_allowed"), {}
    if isinstance(error, TooManyFilesSent):
        return 413, _body("Too many files in one request. Send fewer at a time.", "too_large"), {}
    if isinstance(error, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return 413, _body(f"The form has more than {most:,} fields. Send it in parts.", "too_large"), {}
    if isinstance(error, RequestDataTooBig):
        return 413, _body("The request is larger than this server accepts. Send it in parts.", "too_large"), {}
    if isinstance(error, DisallowedHost):
        detail = "This server does not answer to this host name. Use one of Security:AllowedHosts."
        return 400, _body(detail, "unknown_host"), {}
    if isinstance(error, MultiPartParserError):
        return 400, _body(str(error), "malformed_form"), {}
    if isinstance(error, SuspiciousOperation):
        return 400, _body("The request is malformed.", "invalid"), {}
    return _database(error)


def _ours(error: errors.RagsiteError) -> tuple[int, dict[str, Any], dict[str, str]]:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    body = _body(error.detail, error.code)
    if error.errors:
        body["errors"] = error.errors
    headers: dict[str, str] = {}
    if isinstance(error, errors.Unavailable):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="ragsite"'
    return status, body, headers


def _database(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    if isinstance(error, DatabaseError | InterfaceError):
        return _ours(of_database(error))
    return 500, _body(errors.OURS, "server_error"), {}


def _rest_framework(error: exceptions.APIException) -> tuple[int, dict[str, Any], dict[str, str]]:
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.ValidationError):
        fields = _by_field(error.detail)
        place, messages = next(iter(fields.items()))
        sentence = messages[0] if place == "" else f"{place}: {messages[0]}"
        body = _body(sentence, "invalid")
        body["errors"] = fields
        return 400, body, headers
    if isinstance(error, exceptions.MethodNotAllowed):
        return 405, _body(f"{error.detail}".replace('"', "'"), "method_not_allowed"), headers
    if isinstance(error, exceptions.ParseError):
        # JSON and forms have their own parsers and sentences; this is a framework's word for anything else.
        return 400, _body("The form could not be read. Send files as curl -F does.", "malformed_form"), headers
    if isinstance(error, exceptions.UnsupportedMediaType):
        sentence = "Send this as JSON with 'Content-Type: application/json', files as 'multipart/form-data'."
        return 415, _body(sentence, "unsupported_media_type"), headers
    if isinstance(error, exceptions.NotAcceptable):
        return 406, _body("This answers JSON only: accept application/json.", "not_acceptable"), headers
    return error.status_code, _body(str(error.detail), str(error.default_code)), headers


def _by_field(detail: Any, place: str = "") -> dict[str, list[str]]:
    """Nested validation messages as one flat table, e.g. `documents.0.text`."""
    if isinstance(detail, dict):
        found: dict[str, list[str]] = {}
        for key, value in detail.items():
            step = "" if key == "non_field_errors" else sayable(str(key))
            found |= _by_field(value, ".".join(part for part in (place, step) if part))
        return found
    if isinstance(detail, list) and any(isinstance(part, dict | list) for part in detail):
        found = {}
        for index, value in enumerate(detail):
            if value:
                found |= _by_field(value, f"{place}.{index}" if place else str(index))
        return found
    messages = detail if isinstance(detail, list) else [detail]
    return {place: [sayable(str(message)) for message in messages]}


def _body(detail: str, code: str) -> dict[str, Any]:
    return {"detail": detail, "code": code}


def _is_for_people(request: HttpRequest) -> bool:
    return request.path.startswith("/admin/")


@never_cache
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """No such path: JSON for programs, a page for people."""
    if _is_for_people(request):
        # What a page of ours has said; the router's own words are for developers.
        said = "" if isinstance(exception, Resolver404) else str(exception)
        return render(request, "404.html", {"detail": said}, status=404)
    return JsonResponse(
        _body("There is nothing at this address. See /swagger for what there is.", "not_found"), status=404
    )


@never_cache
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_for_people(request):
        return permission_denied(request, exception)
    return JsonResponse(_body("This is not allowed.", "not_allowed"), status=403)


@never_cache
def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without the token of its page: one that was open since before a login or logout, or from another site."""
    if _is_for_people(request):
        return render(request, "stale_form.html", status=403)
    return JsonResponse(_body("This form was not sent by a page of this server.", "not_allowed"), status=403)


@never_cache
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What Django refused before a view saw it: too much, or a host that is not ours."""
    status, body, _ = _answer(exception)
    if _is_for_people(request):
        return render(request, "400.html", body, status=status)
    return JsonResponse(body, status=status)


@never_cache
def crashed(request: HttpRequest) -> HttpResponse:
    if _is_for_people(request):
        return server_error(request)
    return JsonResponse(_body(errors.OURS, "server_error"), status=500)
