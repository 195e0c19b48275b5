"""A list of URLs is a list of files."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from ingest_app.origins.fetching import FetchLimits
from ingest_app.origins.found import Unreadable
from ingest_app.origins.urls import UrlReader
from tests.unit.ingest.origins.servers import serving


def reader(*urls: str) -> UrlReader:
    return UrlReader(urls, FetchLimits(max_bytes=100, timeout_seconds=30, allowed_networks=[ip_network("127.0.0.0/8")]))


def names(*urls: str) -> list[str]:
    return [file.name for file in reader(*urls).files(lambda: None)]


def test_files_are_named_by_the_normal_form_of_their_url_and_come_once() -> None:
    given = ["http://A.example/x#1", "", " http://a.example:80/x#2 ", "http://b.example", "http://a.example/x"]
    assert names(*given) == ["http://a.example/x", "http://b.example/"]


def test_what_is_no_url_is_a_file_that_cannot_be_read_and_stops_no_other() -> None:
    with serving({"/a": lambda call: call.send(b"hello")}) as server:
        first, second, third = reader("nonsense", f"{server.url}/b", f"{server.url}/a").files(lambda: None)
        with pytest.raises(Unreadable) as caught:
            first.read()
        assert (first.name, caught.value.code) == ("nonsense", "invalid_url")
        with pytest.raises(Unreadable, match="404"):
            second.read()
        assert third.read() == b"hello"


def test_nothing_is_asked_before_a_file_is_read() -> None:
    with serving({"/a": lambda call: call.send(b"hello")}) as server:
        (file,) = reader(f"{server.url}/a").files(lambda: None)
        assert not server.seen
        assert file.read() == file.read() == b"hello"
        assert len(server.seen) == 2


def test_no_password_becomes_a_name() -> None:
    (name,) = names("http://user:secret@example.org/a@b")
    assert name == "http://example.org/a@b"


def test_the_check_goes_along() -> None:
    class Cancelled(Exception):
        pass

    def cancel() -> None:
        raise Cancelled

    (file,) = reader("http://127.0.0.1/").files(cancel)
    with pytest.raises(Cancelled):
        file.read()
