"""When no key is asked for: in Development, and certainly from this machine (README 13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import RequestFactory

from access_app.authentication import is_keyless, presented_key
from core_app.errors import NotAuthenticated

HERE: dict[str, str] = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}


@pytest.fixture(autouse=True)
def _any_host(settings: Any) -> None:
    """What Django itself refuses never gets as far as this rule; here the rule stands alone."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.RAGSITE_BIND = "127.0.0.1"


def keyless(**changes: str | None) -> bool:
    meta = {name: value for name, value in {**HERE, **changes}.items() if value is not None}
    return is_keyless(RequestFactory().get("/collections", **meta))  # type: ignore[arg-type]  # META as it is


def test_a_plain_call_from_this_machine_needs_no_key() -> None:
    assert keyless()


@pytest.mark.parametrize("environment", ["Production", "Staging", "development"])
def test_outside_development_a_key_is_always_needed(settings: Any, environment: str) -> None:
    settings.LOADED = replace(settings.LOADED, environment=environment)
    assert not keyless()


def test_require_keys_always_asks_here_too(settings: Any) -> None:
    security = settings.RAGSITE.security.model_copy(update={"require_keys": "always"})
    values = settings.RAGSITE.model_copy(update={"security": security})
    settings.LOADED = replace(settings.LOADED, values=values)
    assert not keyless()


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1", True),
        ("127.0.0.53", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("", False),
        ("192.168.1.5", False),
        ("example.org", False),
    ],
)
def test_the_server_must_listen_on_loopback_alone(settings: Any, bind: str, expected: bool) -> None:
    settings.RAGSITE_BIND = bind
    assert keyless() is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("::1", True), ("", False), ("10.0.0.9", False), ("not an address", False)],
)
def test_the_caller_must_be_on_this_machine(address: str, expected: bool) -> None:
    assert keyless(REMOTE_ADDR=address) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("localhost.", True),
        ("[::1]:8000", True),
        ("rebound.example.org", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("0.0.0.0:8000", False),
        ("10.0.0.9", False),
    ],
)
def test_a_host_that_is_not_loopback_may_be_a_rebound_name(host: str, expected: bool) -> None:
    assert keyless(HTTP_HOST=host) is expected


def test_a_request_that_names_no_host_is_not_known_to_be_for_us() -> None:
    assert not keyless(HTTP_HOST=None)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8000", True),
        ("null", False),
        ("", False),
        ("http://localhost:8000", False),
        ("http://127.0.0.1:9000", False),
        ("http://127.0.0.1", False),
        ("https://example.org", False),
        ("http://example.org@127.0.0.1:8000", False),
        ("http://127.0.0.1:8000.example.org", False),
        ("http://[::1", False),
        ("http://[bad]:8000", False),
        ("127.0.0.1:8000", False),
    ],
)
def test_an_origin_must_be_this_very_server(origin: str, expected: bool) -> None:
    assert keyless(HTTP_ORIGIN=origin) is expected


@pytest.mark.parametrize(
    ("site", "expected"),
    [("none", True), ("same-origin", True), ("same-site", False), ("cross-site", False), ("", False), ("x", False)],
)
def test_a_browser_that_speaks_of_another_site_is_believed(site: str, expected: bool) -> None:
    assert keyless(HTTP_SEC_FETCH_SITE=site) is expected


@pytest.mark.parametrize(
    "header",
    ["X_FORWARDED_FOR", "X_FORWARDED_HOST", "X_FORWARDED_PROTO", "X_FORWARDED_PORT", "X_FORWARDED_SERVER", "FORWARDED"],
)
@pytest.mark.parametrize("value", ["127.0.0.1", ""])
def test_a_forwarded_call_may_come_from_anybody(header: str, value: str) -> None:
    assert not keyless(**{f"HTTP_{header}": value})


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, None),
        ({"HTTP_AUTHORIZATION": "Bearer abc"}, "abc"),
        ({"HTTP_AUTHORIZATION": "bearer   abc "}, "abc"),
        ({"HTTP_AUTHORIZATION": "Bearer"}, ""),
        ({"HTTP_AUTHORIZATION": "Bearer "}, ""),
        ({"HTTP_X_API_KEY": "abc"}, "abc"),
        ({"HTTP_X_API_KEY": ""}, ""),
        ({"HTTP_AUTHORIZATION": "Bearer one", "HTTP_X_API_KEY": "two"}, "one"),
    ],
)
def test_a_key_is_read_from_either_header(headers: dict[str, str], key: str | None) -> None:
    """An empty key is a wrong key, not none: it must not fall back to keyless."""
    assert presented_key(RequestFactory().get("/", **headers)) == key  # type: ignore[arg-type]  # META as it is


@pytest.mark.parametrize("header", ["Basic dXNlcjpwdw==", "Token abc", "abc"])
def test_another_scheme_is_refused_instead_of_ignored(header: str) -> None:
    with pytest.raises(NotAuthenticated, match="Bearer"):
        presented_key(RequestFactory().get("/", HTTP_AUTHORIZATION=header))
