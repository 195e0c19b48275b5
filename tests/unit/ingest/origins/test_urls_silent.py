"""A host that is waited for in vain is given up for this run, whatever else the list holds."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from ingest_app.origins import urls
from ingest_app.origins.fetching import FetchLimits
from ingest_app.origins.found import FoundFile, Unreadable
from ingest_app.origins.urls import UrlReader
from tests.unit.ingest.origins.servers import Server, serving

#: The sentence of an address that is not asked for any more.
GIVEN_UP = "Its server was waited for in vain 3 times, so it was not asked again in this run."


@pytest.fixture
def server() -> Iterator[Server]:
    """Has one page; any other is missing."""
    with serving({"/page": lambda call: call.send(b"hello")}) as running:
        yield running


@pytest.fixture
def always_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every failure took long enough to count."""
    monkeypatch.setattr(urls, "SILENT_SECONDS", 0.0)


def files(*given: str) -> list[FoundFile]:
    limits = FetchLimits(max_bytes=100, timeout_seconds=30, allowed_networks=[ip_network("127.0.0.0/8")])
    return list(UrlReader(given, limits).files(lambda: None))


def failed(file: FoundFile) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        file.read()
    return caught.value


def asked(server: Server) -> list[str]:
    return [path for path, _ in server.seen]


@pytest.mark.usefixtures("always_slow")
def test_the_fourth_is_not_fetched_after_three_failed(server: Server) -> None:
    missing = files(*(f"{server.url}/{number}" for number in range(5)))
    assert [failed(file).code for file in missing[:3]] == ["fetch_failed"] * 3
    for file in missing[3:]:
        error = failed(file)
        assert (error.code, error.detail) == ("fetch_timeout", GIVEN_UP)
    assert asked(server) == ["/0", "/1", "/2"]


@pytest.mark.usefixtures("always_slow")
def test_another_host_is_still_read(server: Server) -> None:
    with serving({"/page": lambda call: call.send(b"other")}, address="127.0.0.2") as other:
        page = f"http://127.0.0.2:{other.port}/page"
        *four, last = files(*(f"{server.url}/{number}" for number in range(4)), page)
        assert [failed(file).code for file in four] == ["fetch_failed"] * 3 + ["fetch_timeout"]
        assert last.read() == b"other"


@pytest.mark.usefixtures("always_slow")
def test_a_page_that_is_read_makes_the_count_begin_anew(server: Server) -> None:
    names = ["0", "1", "page", "2", "3", "4", "5"]
    first, second, page, *others = files(*(f"{server.url}/{name}" for name in names))
    failed(first)
    failed(second)
    assert page.read() == b"hello"
    assert [failed(file).code for file in others] == ["fetch_failed"] * 3 + ["fetch_timeout"]
    assert asked(server) == [f"/{name}" for name in names[:-1]]


@pytest.mark.usefixtures("always_slow")
def test_what_was_given_up_is_tried_again_in_the_next_run(server: Server) -> None:
    given = [f"{server.url}/{number}" for number in range(4)]
    for _ in range(2):
        assert [failed(file).code for file in files(*given)] == ["fetch_failed"] * 3 + ["fetch_timeout"]
    assert asked(server) == ["/0", "/1", "/2"] * 2


def test_quick_failures_never_count(server: Server) -> None:
    *missing, page = files(*(f"{server.url}/{number}" for number in range(10)), f"{server.url}/page")
    assert {failed(file).code for file in missing} == {"fetch_failed"}
    assert page.read() == b"hello"
    assert len(asked(server)) == 11


def test_a_server_that_answers_quickly_now_and_then_is_not_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, file in enumerate(files(*(f"{server.url}/{number}" for number in range(7)))):
        monkeypatch.setattr(urls, "SILENT_SECONDS", 60.0 if number % 2 else 0.0)
        assert failed(file).code == "fetch_failed"


@pytest.mark.usefixtures("always_slow")
def test_a_host_s_other_ports_are_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(*, url: str, **_: object) -> bytes:
        if url.startswith("https"):
            return b"hello"
        raise Unreadable("It did not answer.", code="fetch_timeout")

    monkeypatch.setattr(urls, "fetch", answered)
    *three, last = files(*(f"http://docs.example/{number}" for number in range(3)), "https://docs.example/page")
    assert [failed(file).code for file in three] == ["fetch_timeout"] * 3
    assert last.read() == b"hello"
