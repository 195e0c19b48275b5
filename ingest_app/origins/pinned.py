"""A network for the HTTP client that leads to addresses checked before, and nowhere else."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore2

from ingest_app.origins.addresses import Address
from ingest_app.origins.time_limit import TimeLimit

#: One address that does not answer leaves time for the next.
_CONNECT_SECONDS = 10.0
#: How long nothing may come before it is looked whether to go on.
_LISTEN_SECONDS = 0.2


class PinnedNetwork(httpcore2.NetworkBackend):
    """Connects to one of these addresses, whatever name the client has; the name still goes into TLS."""

    def __init__(self, *, addresses: Sequence[Address], time_limit: TimeLimit) -> None:
        self._addresses = addresses
        self._time_limit = time_limit
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for address in self._addresses:
            seconds = min(_CONNECT_SECONDS, self._time_limit.left())
            try:
                stream = self._plain.connect_tcp(str(address), port, timeout=seconds)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _TimedStream(stream, self._time_limit)
        raise failure


class _TimedStream(httpcore2.NetworkStream):
    """The client's own time limits are for one read each: a server that sends a byte a second never reaches them."""

    def __init__(self, stream: httpcore2.NetworkStream, time_limit: TimeLimit) -> None:
        self._stream = stream
        self._time_limit = time_limit

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            seconds = min(_LISTEN_SECONDS, self._time_limit.left())
            try:
                return self._stream.read(max_bytes, timeout=seconds)
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=self._time_limit.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=self._time_limit.left())
        return _TimedStream(stream, self._time_limit)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
