"""One file from the web, for a user who must not see more of the network than the internet does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urljoin

import httpcore2

from ingest_app.origins.addresses import Network, Resolver, allowed_addresses, system_resolver
from ingest_app.origins.found import Unreadable
from ingest_app.origins.pinned import PinnedNetwork
from ingest_app.origins.targets import Target, target_of
from ingest_app.origins.time_limit import TimeLimit

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Compressed pieces would have to be unpacked by parts, for a few bytes may hold gigabytes.
_HEADERS = (("User-Agent", "Ragsite"), ("Accept", "*/*"), ("Accept-Encoding", "identity"), ("Connection", "close"))


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """`timeout_seconds` is for all of it: the look-up of the name, every redirect, the last byte."""

    max_bytes: int
    timeout_seconds: float
    max_redirects: int = 5
    allowed_networks: Sequence[Network] = ()


def fetch(*, url: str, limits: FetchLimits, check: Callable[[], None], resolve: Resolver = system_resolver) -> bytes:
    """What a URL holds, after all redirects.

    Only public hosts are asked, besides those in `allowed_networks`; that goes for every redirect, too. `check` is
    called several times a second and may raise. Raises Unreadable with one of the codes `invalid_url`,
    `private_address`, `fetch_failed`, `fetch_timeout`, `too_large`, `too_many_redirects`.
    """
    late = Unreadable(f"It was not read within {limits.timeout_seconds:g} seconds.", code="fetch_timeout")
    time_limit = TimeLimit(seconds=limits.timeout_seconds, late=late, check=check)
    target = target_of(url)
    for _ in range(limits.max_redirects + 1):
        with _asked(target, limits, time_limit, resolve) as response:
            if response.status not in _REDIRECTS:
                return _read(response, limits)
            target = _redirected(target, response)
    raise Unreadable(
        f"It was redirected more than {limits.max_redirects} times. Give the URL that it ends at.",
        code="too_many_redirects",
    )


@contextmanager
def _asked(
    target: Target, limits: FetchLimits, time_limit: TimeLimit, resolve: Resolver
) -> Iterator[httpcore2.Response]:
    """The answer to one request, its body not read yet. A connection of its own each: addresses are checked anew."""
    addresses = allowed_addresses(
        host=target.host,
        port=target.port,
        allowed=limits.allowed_networks,
        time_limit=time_limit,
        resolve=resolve,
    )
    network = PinnedNetwork(addresses=addresses, time_limit=time_limit)
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    headers = [("Host", target.authority), *_HEADERS]
    try:
        # The library asks no proxy, keeps no cookies and reads no .netrc. It checks certificates by default.
        with (
            httpcore2.ConnectionPool(network_backend=network) as pool,
            pool.stream("GET", url, headers=headers) as response,
        ):
            yield response
    except httpcore2.TimeoutException:
        time_limit.left()  # Where all of the time is over, that is the reason.
        raise Unreadable(f"{target.host} did not answer.", code="fetch_failed") from None
    except httpcore2.ConnectError as error:
        raise Unreadable(_connecting(target, str(error)), code="fetch_failed") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError):
        raise Unreadable(
            f"The connection to {target.host} broke, or no HTTP came over it.", code="fetch_failed"
        ) from None


def _connecting(target: Target, reason: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return f"The certificate of {target.host} is not valid for this name, not trusted or out of date."
    if "SSL" in reason:
        return f"{target.host} does not speak TLS as it should. Check whether it is an http:// URL."
    return f"{target.host} cannot be reached."


def _redirected(target: Target, response: httpcore2.Response) -> Target:
    location = _header(response, b"location")
    if location is None:
        raise Unreadable("The server redirects without saying where to.", code="fetch_failed")
    try:
        return target_of(urljoin(target.url, location))
    except ValueError:
        raise Unreadable("The server redirects to something that is no URL.", code="invalid_url") from None


def _read(response: httpcore2.Response, limits: FetchLimits) -> bytes:
    if response.status != HTTPStatus.OK:
        raise Unreadable(f"The server answered {_named(response.status)}.", code="fetch_failed")
    encoding = (_header(response, b"content-encoding") or "identity").strip().lower()
    if encoding != "identity":
        raise Unreadable("The server sends it compressed, although it was asked not to.", code="fetch_failed")
    length = _header(response, b"content-length") or ""
    content = bytearray()
    too_large = Unreadable(f"Larger than {limits.max_bytes} bytes. Split it.", code="too_large")
    if length.isdecimal() and int(length) > limits.max_bytes:
        raise too_large
    for piece in response.iter_stream():
        content += piece
        if len(content) > limits.max_bytes:
            raise too_large
    return bytes(content)


def _named(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def _header(response: httpcore2.Response, name: bytes) -> str | None:
    found = next((value for key, value in response.headers if key.lower() == name), None)
    return None if found is None else found.decode("utf-8", errors="surrogateescape")
