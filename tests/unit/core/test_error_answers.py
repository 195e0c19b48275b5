"""One place turns every error into status, sentence and code (api.md; NFR-001)."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.db import InterfaceError, OperationalError
from django.http import Http404
from psycopg.errors import LockNotAvailable, ProgramLimitExceeded, QueryCanceled
from rest_framework import exceptions, serializers
from rest_framework.response import Response

from core_app import errors
from ragsite.errors import STATUS, exception_handler

LEAK = "postgresql://ragsite:hunter2@10.0.0.9/db at /srv/secret/data"


def answer(error: Exception) -> Response:
    return exception_handler(error, {})


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidInput("Do this."), 400, "invalid"),
        (errors.InvalidInput("Do this.", code="special"), 400, "special"),
        (errors.NotAuthenticated("Do this."), 401, "not_authenticated"),
        (errors.NotAllowed("Do this."), 403, "not_allowed"),
        (errors.NotFound("Do this."), 404, "not_found"),
        (errors.Conflict("Do this."), 409, "conflict"),
        (errors.TooLarge("Do this."), 413, "too_large"),
        (errors.UnsupportedType("Do this."), 415, "unsupported_type"),
        (errors.Unavailable("Do this."), 503, "unavailable"),
        (errors.TooManyRequests("Do this."), 429, "too_many_requests"),
    ],
)
def test_our_errors_are_shown_as_they_are(error: errors.RagsiteError, status: int, code: str) -> None:
    response = answer(error)
    assert (response.status_code, response.data) == (status, {"detail": "Do this.", "code": code})


def test_every_kind_of_our_errors_has_a_status() -> None:
    assert set(errors.RagsiteError.__subclasses__()) == set(STATUS) - {errors.TooManyRequests}


def test_errors_by_field_are_passed_on() -> None:
    response = answer(errors.InvalidInput("Do this.", errors={"name": ["Too long."]}))
    assert response.data["errors"] == {"name": ["Too long."]}


def test_unavailable_says_when_to_come_back_and_a_missing_key_how() -> None:
    assert answer(errors.Unavailable("Wait.", retry_after_seconds=60)).headers["Retry-After"] == "60"
    assert answer(errors.NotAuthenticated("Key?")).headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError(LEAK), 500, "server_error"),
        (KeyError(LEAK), 500, "server_error"),
        (RecursionError(LEAK), 500, "server_error"),
        (OperationalError(LEAK), 500, "database_unavailable"),
        (InterfaceError(LEAK), 500, "database_unavailable"),
        (caused(OperationalError(LEAK), LockNotAvailable(LEAK)), 503, "collection_busy"),
        (caused(OperationalError(LEAK), QueryCanceled(LEAK)), 400, "too_expensive"),
        (caused(OperationalError(LEAK), ProgramLimitExceeded(LEAK)), 400, "too_large_to_store"),
        (Http404(LEAK), 404, "not_found"),
        (PermissionDenied(LEAK), 403, "not_allowed"),
        (SuspiciousOperation(LEAK), 400, "invalid"),
        (TooManyFilesSent(LEAK), 413, "too_large"),
        (TooManyFieldsSent(LEAK), 413, "too_large"),
        (exceptions.ParseError(LEAK), 400, "malformed_form"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.UnsupportedMediaType("text/xml"), 415, "unsupported_media_type"),
        (exceptions.MethodNotAllowed("PATCH"), 405, "method_not_allowed"),
    ],
)
def test_nfr_001_nothing_of_another_error_leaves(error: Exception, status: int, code: str) -> None:
    response = answer(error)
    assert (response.status_code, response.data["code"]) == (status, code)
    assert set(response.data) == {"detail", "code"}
    assert response.data["detail"].endswith(".")
    assert not any(part in str(response.data) for part in ("hunter2", "10.0.0.9", "/srv", "Error"))


def test_the_log_has_what_the_answer_has_not(caplog: pytest.LogCaptureFixture) -> None:
    answer(RuntimeError(LEAK))
    assert LEAK in caplog.text
    caplog.clear()
    answer(errors.NotFound("No."))
    assert caplog.records == []


def test_what_is_refused_for_now_is_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    answer(errors.Unavailable("Too much at once."))
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]
    caplog.clear()
    answer(caused(errors.Unavailable("The model does not load."), OSError(LEAK)))
    assert [record.levelname for record in caplog.records] == ["ERROR"]


class Part(serializers.Serializer[Any]):
    text = serializers.CharField()


class Whole(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=3)
    parts = Part(many=True)


def test_validation_is_400_with_errors_by_field() -> None:
    whole = Whole(data={"name": "long name", "parts": [{"text": "x"}, {"text": ""}, {}]})
    with pytest.raises(exceptions.ValidationError) as caught:
        whole.is_valid(raise_exception=True)
    response = answer(caught.value)
    assert response.status_code == 400
    assert response.data["code"] == "invalid"
    assert set(response.data["errors"]) == {"name", "parts.1.text", "parts.2.text"}
    assert response.data["detail"] == f"name: {response.data['errors']['name'][0]}"


def test_a_mistake_in_the_body_as_a_whole_has_no_field() -> None:
    response = answer(exceptions.ValidationError({"non_field_errors": ["Send an object."]}))
    assert response.data["detail"] == "Send an object."
    assert response.data["errors"] == {"": ["Send an object."]}
