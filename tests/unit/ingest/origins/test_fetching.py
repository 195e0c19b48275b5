"""A URL is read within its limits, from hosts that were checked."""

from __future__ import annotations

import gzip
import logging
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from ingest_app.origins.addresses import Resolver, system_resolver
from ingest_app.origins.fetching import FetchLimits, fetch
from ingest_app.origins.found import Unreadable
from tests.unit.ingest.origins.servers import CERTIFICATE, Call, Names, redirect_to, serving

HERE = {"files.example": [["127.0.0.1"]]}


def read(url: str, *, resolve: Resolver = system_resolver, opened: str = "127.0.0.1/32", **limits: Any) -> bytes:
    chosen = {"max_bytes": 10_000, "timeout_seconds": 30, **limits}
    return fetch(
        url=url,
        limits=FetchLimits(**chosen, allowed_networks=[ip_network(opened)]),
        check=lambda: None,
        resolve=resolve,
    )


def refused(url: str, **options: Any) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read(url, **options)
    return caught.value


def page(call: Call) -> None:
    call.send(b"hello", content_type="Text/HTML; charset=utf-8")


def test_a_file_comes_as_it_is() -> None:
    with serving({"/a": page}) as server:
        found = read(f"{server.url}/a?b=c#d")
    assert found == b"hello"
    ((path, headers),) = server.seen
    assert path == "/a?b=c"
    assert headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "Ragsite",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
    }


def test_nothing_of_this_machine_goes_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, no password of a .netrc, no cookie that was set."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving({}) as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        moved = lambda call: call.send(b"", status=302, location="/b", set_cookie="a=b")  # noqa: E731
        with serving({"/a": moved, "/b": page}) as server:
            assert read(f"{server.url}/a") == b"hello"
    assert not proxy.seen
    assert not [headers for _, headers in server.seen if {"cookie", "authorization"} & set(headers)]


def test_a_server_on_this_machine_is_not_asked_unless_that_was_opened() -> None:
    with serving({"/a": page}) as server:
        for url in (
            f"{server.url}/a",
            f"http://localhost:{server.port}/a",
            f"http://[::ffff:127.0.0.1]:{server.port}/a",
        ):
            assert refused(url, opened="10.0.0.0/8").code == "private_address"
    assert not server.seen


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/b", "b", "//127.0.0.1:{port}/b", "http://127.0.0.1:{port}/b#c"])
def test_a_redirect_is_followed(status: int, location: str) -> None:
    with serving({"/b": page}) as server:
        server.answers = {**server.answers, "/a": redirect_to(location.format(port=server.port), status)}
        found = read(f"{server.url}/a")
    assert found == b"hello"
    assert [path for path, _ in server.seen] == ["/a", "/b"]


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://10.0.0.1/", "private_address"),
        ("http://127.0.0.2/", "private_address"),
        ("http://[::1]/", "private_address"),
        ("//169.254.169.254/latest/meta-data/", "private_address"),
        ("http://inside.example/", "private_address"),
        ("http://nowhere.example/", "fetch_failed"),
        ("http://2130706433/", "invalid_url"),
        ("http://a@127.0.0.1/", "invalid_url"),
        ("file:///etc/passwd", "invalid_url"),
        ("gopher://127.0.0.1/", "invalid_url"),
        ("http://[::1/", "invalid_url"),
        ("http://127.0.0.1\\@example.org/", "invalid_url"),
    ],
)
def test_a_redirect_is_checked_like_the_first_url(location: str, code: str) -> None:
    with serving({"/a": redirect_to(location)}) as server:
        assert refused(f"{server.url}/a", resolve=Names({"inside.example": [["10.1.2.3"]]})).code == code
    assert len(server.seen) == 1


def test_a_redirect_to_nowhere_is_said_so() -> None:
    with serving({"/a": lambda call: call.send(b"", status=302)}) as server:
        assert "without saying where" in refused(f"{server.url}/a").detail


def test_redirects_end() -> None:
    with serving({"/a": redirect_to("/b"), "/b": redirect_to("/a")}) as server:
        error = refused(f"{server.url}/a")
    assert error.code == "too_many_redirects"
    assert len(server.seen) == 6


def test_as_many_redirects_as_are_allowed_are_followed() -> None:
    with serving({"/a": redirect_to("/b"), "/b": redirect_to("/c"), "/c": page}) as server:
        assert read(f"{server.url}/a", max_redirects=2) == b"hello"
        assert refused(f"{server.url}/a", max_redirects=1).code == "too_many_redirects"


def test_a_name_is_looked_up_once_and_connected_where_it_led() -> None:
    """A name server that answers something harmless first and this network later wins nothing by that."""
    names = Names({"files.example": [["127.0.0.1"], ["127.0.0.2"]]})
    with (
        serving({"/a": page}) as server,
        serving({"/a": page}, address="127.0.0.2", port=server.port) as inside,
    ):
        url = f"http://files.example:{server.port}/a"
        assert read(url, resolve=names) == b"hello"
        assert names.asked == ["files.example"]
        assert server.seen[0][1]["host"] == f"files.example:{server.port}"
        assert refused(url, resolve=names).code == "private_address"
    assert len(server.seen) == 1
    assert not inside.seen


def test_a_redirect_to_the_same_name_is_looked_up_anew() -> None:
    names = Names({"files.example": [["127.0.0.1"], ["127.0.0.2"]]})
    with serving({"/a": redirect_to("/b"), "/b": page}) as server:
        assert refused(f"http://files.example:{server.port}/a", resolve=names).code == "private_address"
    assert [path for path, _ in server.seen] == ["/a"]


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    names = Names({"files.example": [["127.0.0.3", "127.0.0.1"]]})
    with serving({"/a": page}) as server:
        assert read(f"http://files.example:{server.port}/a", resolve=names, opened="127.0.0.0/8") == b"hello"


@pytest.mark.parametrize(
    ("status", "said"), [(404, "404 (Not Found)"), (500, "500"), (204, "204"), (206, "206"), (599, "599.")]
)
def test_anything_but_200_is_a_failure_that_names_it(status: int, said: str) -> None:
    with serving({"/a": lambda call: call.send(b"", status=status)}) as server:
        error = refused(f"{server.url}/a")
    assert error.code == "fetch_failed"
    assert said in error.detail


def test_a_length_that_is_too_much_is_not_waited_for() -> None:
    def announce(call: Call) -> None:
        call.send(b"", content_length="10001")
        call.server.over.wait(60)

    with serving({"/a": announce}) as server:
        assert refused(f"{server.url}/a").code == "too_large"


def endless(call: Call) -> None:
    call.send_response(200)
    call.send_header("Transfer-Encoding", "chunked")
    call.end_headers()
    call.keep_sending(b"400\r\n" + b"x" * 1024 + b"\r\n", every=0)


def test_a_body_without_an_end_is_cut_off() -> None:
    with serving({"/a": endless}) as server:
        assert refused(f"{server.url}/a").code == "too_large"


def test_as_much_as_is_allowed_is_read() -> None:
    with serving({"/a": lambda call: call.send(b"x" * 10_000), "/b": lambda call: call.send(b"x" * 10_001)}) as server:
        assert len(read(f"{server.url}/a")) == 10_000
        assert refused(f"{server.url}/b").code == "too_large"


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "gzip, identity"])
def test_what_comes_compressed_is_not_unpacked(encoding: str) -> None:
    bomb = gzip.compress(b"\0" * 1_000_000)
    assert len(bomb) < 10_000
    with serving({"/a": lambda call: call.send(bomb, content_encoding=encoding)}) as server:
        assert "compressed" in refused(f"{server.url}/a").detail


def drip_body(call: Call) -> None:
    call.send(b"x", content_length="9999")
    call.keep_sending(b"x", every=0.02)


def drip_headers(call: Call) -> None:
    call.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    call.keep_sending(b"x", every=0.02)


def drip_nothing(call: Call) -> None:
    call.server.over.wait(60)


def drip_early_hints(call: Call) -> None:
    call.keep_sending(b"HTTP/1.1 103 Early Hints\r\n\r\n", every=0.02)


SLOW = [drip_body, drip_headers, drip_nothing, drip_early_hints]


@pytest.mark.parametrize("answer", SLOW)
def test_the_time_is_for_all_of_it(answer: Any) -> None:
    with serving({"/a": answer}) as server:
        assert refused(f"{server.url}/a", timeout_seconds=0.5).code == "fetch_timeout"


@pytest.mark.parametrize("answer", SLOW)
def test_the_time_is_for_all_of_it_over_tls(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with serving({"/a": answer}, tls=True) as server:
        url = f"https://files.example:{server.port}/a"
        assert refused(url, resolve=Names(HERE), timeout_seconds=0.8).code == "fetch_timeout"


def test_the_time_is_for_all_redirects_together() -> None:
    def late(call: Call) -> None:
        call.server.over.wait(0.2)
        call.send(b"", status=302, location="/a")

    with serving({"/a": late}) as server:
        assert refused(f"{server.url}/a", timeout_seconds=0.5, max_redirects=1000).code == "fetch_timeout"


def test_a_server_that_never_finishes_its_handshake_is_given_up() -> None:
    with serving({}, tls=True) as server:
        server.stalls = True
        url = f"https://files.example:{server.port}/"
        assert refused(url, resolve=Names(HERE), timeout_seconds=0.5).code == "fetch_timeout"


@pytest.mark.parametrize("answer", SLOW)
def test_whoever_waits_may_stop_it(answer: Any) -> None:
    class Cancelled(Exception):
        pass

    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise Cancelled

    limits = FetchLimits(max_bytes=10_000, timeout_seconds=60, allowed_networks=[ip_network("127.0.0.1")])
    with serving({"/a": answer}) as server:
        with pytest.raises(Cancelled):
            fetch(url=f"{server.url}/a", limits=limits, check=check)
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    ],
)
def test_what_is_no_http_is_a_failure(said: bytes) -> None:
    def answer(call: Call) -> None:
        call.wfile.write(said)
        call.close_connection = True

    with serving({"/a": answer}) as server:
        error = refused(f"{server.url}/a")
    assert error.code == "fetch_failed"
    assert "127.0.0.1" in error.detail


def test_a_port_where_nobody_listens_is_a_failure() -> None:
    with serving({}) as server:
        url = f"{server.url}/a"
    assert "cannot be reached" in refused(url).detail


def test_https_is_checked_against_the_name_and_not_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    names = Names({**HERE, "other.example": [["127.0.0.1"]]})
    with serving({"/a": page}, tls=True) as server:
        assert read(f"https://files.example:{server.port}/a", resolve=names) == b"hello"
        assert server.names == ["files.example"]
        wrong = refused(f"https://other.example:{server.port}/a", resolve=names)
        bare = refused(f"https://127.0.0.1:{server.port}/a", resolve=names)
        assert server.names == ["files.example", "other.example", None]
    assert [error.code for error in (wrong, bare)] == ["fetch_failed", "fetch_failed"]
    assert "certificate of other.example" in wrong.detail
    assert len(server.seen) == 1


def test_a_certificate_that_nobody_trusts_is_refused() -> None:
    with serving({"/a": page}, tls=True) as server:
        error = refused(f"https://files.example:{server.port}/a", resolve=Names(HERE))
    assert "certificate" in error.detail
    assert not server.seen


def test_https_where_only_http_is_spoken_is_a_failure() -> None:
    with serving({"/a": page}) as server:
        error = refused(f"https://files.example:{server.port}/a", resolve=Names(HERE))
    assert error.code == "fetch_failed"


def test_no_sentence_tells_what_is_inside(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    names = Names({"inside.example": [["10.20.30.40"]]})
    error = refused("http://inside.example/?token=abc", resolve=names)
    assert "10.20.30.40" not in error.detail
    assert "abc" not in error.detail + caplog.text
