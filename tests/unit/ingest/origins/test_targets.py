"""URLs are read in one way only, or not at all."""

# ruff: noqa: RUF001 - digits that look like others are what is tested

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

import httpcore2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest_app.origins.found import Unreadable
from ingest_app.origins.targets import target_of


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("http://example.org", "http://example.org/"),
        ("  HTTPS://Example.ORG:443/A?b=C#d ", "https://example.org/A?b=C"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://exämple.de/ü?ä=1", "http://xn--exmple-cua.de/%C3%BC?%C3%A4=1"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://example.org/a b/%20c/%zz", "http://example.org/a%20b/%20c/%zz"),
        ("http://example.org?x", "http://example.org/?x"),
        ("http://example.org/a@b:c//d;e", "http://example.org/a@b:c//d;e"),
        ("http://[2606:4700:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://localhost.", "http://localhost/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://１２７。０。０。１/", "http://127.0.0.1/"),
        ("http://ⓛocalhost/", "http://localhost/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://example.org/http://127.0.0.1@x", "http://example.org/http://127.0.0.1@x"),
    ],
)
def test_the_normal_form(given_url: str, normal: str) -> None:
    assert target_of(given_url).url == normal
    assert target_of(normal).url == normal


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "example.org", "//example.org/", "/etc/passwd", "http:", "http:/", "http://", "http:///etc/passwd",
        "http:example.org", "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "ssh://example.org/",
        "ext::sh -c id", "javascript:1", "data:,x", "http+unix://%2Fvar/x", "unix:///x",
        # Numbers that other programs take for an address.
        "http://0x7f000001/", "http://2130706433/", "http://017700000001/", "http://127.1/", "http://127.0.1/",
        "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://127.0.0.0x1/", "http://127.0.0.1.0/", "http://0/",
        "http://example.0x/", "http://example.1/", "http://127.0.0.256/", "http://１２７.1/",
        # User names and passwords, and what looks like it.
        "http://a@127.0.0.1/", "http://user:secret@example.org/", "http://@example.org/", "http://example.org@/",
        "http://example.org:80@127.0.0.1/", "http://example.org%40127.0.0.1@x/",
        # Backslashes, blanks and escapes in the host.
        "http://example.org\\@127.0.0.1/", "http:\\\\127.0.0.1/", "http://127.0.0.1\\.example.org/",
        "http://example.org\n/", "http://exa\tmple.org/", "http://example.org/a\r\nHost: x", "http://exa mple.org/",
        "http://127.0.0.1%2f.example.org/", "http://%31%32%37.0.0.1/", "http://example.org%00/", "http://a/\x00",
        "http://example.org%2523/", "http://a/\udce4", "http://a/\u2028",
        # Names that no host has.
        "http://.example.org/", "http://example..org/", "http://example.org../", "http://-a.org/", "http://a-.org/",
        "http://exa$mple.org/", "http://exa*mple.org/", "http://*/", "http://<script>/", "http://a,b/", "http://a'b/",
        "http://" + "a" * 64 + ".org/", "http://" + "a." * 127 + "org/", "http://a/" + "a" * 9000,
        "http://℀.example.org/", "http://exa℆mple.org/", "http://xn--ä.org/",
        # Addresses in brackets.
        "http://[::1/", "http://::1/", "http://[::1]x/", "http://[::1].example.org/", "http://[fe80::1%eth0]/",
        "http://[fe80::1%25eth0]/", "http://[127.0.0.1]/", "http://[v1.x]/", "http://[example.org]/", "http://x[::1]/",
        # Ports.
        "http://example.org:/", "http://example.org:0/", "http://example.org:65536/", "http://example.org:8a/",
        "http://example.org:-1/", "http://example.org:80:80/", "http://example.org:+80/", "http://example.org:８０/",
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(Unreadable) as caught:
        target_of(url)
    assert caught.value.code == "invalid_url"
    assert "secret" not in caught.value.detail


PIECES = st.sampled_from(
    ["http://", "https://", "a.example", "127.0.0.1", "[::1]", "@", ":", "80", "/", "\\", "#", "?", "%2f", "。", "０",
     "x", ".", "0x7f", "\t", " ", "//", "[", "]", "ß", "_"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join).map("http://".__add__) | st.text(max_size=40).map("http://".__add__))
@example("http://a.example/\x85")
def test_every_reader_sees_the_same_host_in_a_normal_form(url: str) -> None:
    try:
        target = target_of(url)
    except Unreadable:
        return
    assert target.url.isascii()
    assert target.url.isprintable()
    assert " " not in target.url
    parts = urlsplit(target.url)
    assert (parts.hostname, parts.port or 80, parts.username) == (target.host, target.port, None)
    theirs = httpcore2.URL(target.url)
    assert (theirs.host.decode(), theirs.target.decode()) == (target.host, target.path)
    assert target_of(target.url) == target
    if target.host.replace(".", "").isdigit() or ":" in target.host:
        assert str(ip_address(target.host)) == target.host
