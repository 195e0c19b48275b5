"""What a URL leads to, read strictly: where two readers of a URL could see different hosts, it is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import NoReturn
from urllib.parse import quote, urlsplit

import idna

from ingest_app.origins.found import Unreadable

_PORTS = {"http": 80, "https": 443}
_MAX_LENGTH = 8192
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# What other readers of URLs take for an IPv4 address: decimal, octal or hexadecimal, in one to four parts.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029\ud800-\udfff]")
#: All that may stand in a path or query as it is; `%` because what is escaped already stays so.
_AS_IS = "/?%:@!$&'()*+,;=~-._[]|"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A URL in its parts. `host` is in ASCII and lower case, an IPv6 address without its brackets."""

    scheme: str
    host: str
    port: int
    #: Path and query.
    path: str

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL and in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The normal form: no fragment, no default port, ASCII only."""
        return f"{self.scheme}://{self.authority}{self.path}"


def target_of(url: str) -> Target:
    """Take an http or https URL apart. Raises Unreadable with the code `invalid_url`."""
    url = url.strip(" \t\r\n")
    if not url or len(url) > _MAX_LENGTH or _CONTROL.search(url):
        _refuse("Write the whole URL, such as https://example.org/page, without line breaks or backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        _refuse("The URL cannot be read: check its host and port.")
    if parts.scheme not in _PORTS:
        _refuse("Only http:// and https:// URLs can be read.")
    if "@" in parts.netloc:
        _refuse("The URL must not hold a user name or password.")
    if port == 0 or parts.netloc.endswith(":"):
        _refuse("The URL cannot be read: check its port.")
    path = quote(parts.path or "/", safe=_AS_IS) + (f"?{quote(parts.query, safe=_AS_IS)}" if parts.query else "")
    return Target(
        scheme=parts.scheme, host=_host_of(parts.netloc), port=_PORTS[parts.scheme] if port is None else port, path=path
    )


def _host_of(authority: str) -> str:
    if authority.startswith("["):
        inside, _, behind = authority[1:].partition("]")
        try:
            literal = IPv6Address(inside if behind[:1] in ("", ":") else authority)
        except ValueError:
            _refuse("The URL's host is no IPv6 address.")
        if literal.scope_id is not None:
            _refuse("The URL's host must not name a network interface.")
        return str(literal)
    # A dot at the end only says that the name is complete. Certificates are made out without it.
    host = _in_ascii(authority.partition(":")[0].lower()).removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            _refuse("Write an IP address as four decimal numbers, such as 192.0.2.1.")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        _refuse("The URL's host is no name that a host can have.")
    return host


def _in_ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        _refuse("The URL's host is no name that a host can have.")


def _refuse(sentence: str) -> NoReturn:
    raise Unreadable(sentence, code="invalid_url")
