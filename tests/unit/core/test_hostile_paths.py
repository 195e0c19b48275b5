"""Paths that decoding would turn into other paths."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from ragsite.middleware import is_hostile_path, raw_path


@pytest.mark.parametrize(
    "path",
    [
        b"/collections/x%2Fdocuments%2Fall",
        b"/collections/x%2fdocuments",
        b"/collections/x%5Cy",
        b"/collections/x%5cy",
        b"/collections/x\\y",
        b"/collections/%00",
        b"/collections/a%0Ab",
        b"/collections/a%0d%0ab",
        b"/collections/%7F",
        b"/collections/a\x01b",
        b"/collections/%ff",
        b"/collections/\xff",
        b"/collections/%C3%28",
        b"/collections/%ED%A0%80",
        b"/collections/%C0%AF",
        b"/collections/x%2F?q=1",
    ],
)
def test_hostile(path: bytes) -> None:
    assert is_hostile_path(path)


@pytest.mark.parametrize(
    "path",
    [
        b"/",
        b"/collections/plain",
        b"/collections/with%20space",
        b"/collections/100%25",
        b"/collections/%252F",
        b"/collections/%E2%98%83",
        "/collections/☃".encode(),
        b"/collections/a?source=x%2Fy%00%ff\\",
        b"/collections/a%3Fb%23c",
        b"/collections/%2e%2e",
        b"/collections/%C2%85",
        b"",
    ],
)
def test_harmless(path: bytes) -> None:
    assert not is_hostile_path(path)


@given(st.text(min_size=1))
def test_a_name_is_hostile_exactly_when_it_cannot_name_a_collection(name: str) -> None:
    bad = any(character in "/\\" or ord(character) < 32 or ord(character) == 127 for character in name)
    assert is_hostile_path(f"/collections/{quote(name, safe='')}".encode()) is bad


def test_the_raw_path_is_what_the_server_was_sent() -> None:
    request = RequestFactory().get("/collections/x/documents")
    assert raw_path(request) == b"/collections/x/documents"
    request.META["REQUEST_URI"] = "/collections/x%2Fdocuments?a=b"
    assert raw_path(request) == b"/collections/x%2Fdocuments?a=b"
    request.META["RAW_URI"] = "/collections/y%2Fdocuments"
    assert raw_path(request) == b"/collections/y%2Fdocuments"
    request.scope = {"raw_path": b"/collections/z%2Fdocuments"}  # type: ignore[attr-defined]  # as ASGI requests have
    assert raw_path(request) == b"/collections/z%2Fdocuments"
