"""Whether the port is free before a start, and whether the server answers after it."""

from __future__ import annotations

import errno
import http.client
import socket

from ragsite.runtime.folders import UnableToStart
from ragsite.runtime.plan import own_address

_TIMEOUT_SECONDS = 2.0


def check_port_is_free(host: str, port: int) -> None:
    """Raises UnableToStart when nothing can listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        raise UnableToStart(f"The address {host} is not known: choose another with --host.") from None
    except OSError as error:
        reasons = {
            errno.EADDRINUSE: f"Port {port} on {host} is already in use: stop what uses it, or "
            "choose another with --port.",
            errno.EACCES: f"Port {port} needs special rights: choose one above 1023 with --port.",
            errno.EADDRNOTAVAIL: f"{host} is not an address of this machine: choose another with --host.",
        }
        reason = reasons.get(error.errno or 0, f"Nothing can listen on {host}:{port}: {error.strerror}.")
        raise UnableToStart(reason) from None


def is_healthy(host: str, port: int) -> bool:
    """Whether `/health` answers 200. No proxy is asked."""
    connection = http.client.HTTPConnection(own_address(host), port, timeout=_TIMEOUT_SECONDS)
    try:
        # A name that is answered in every environment, whatever address the server listens on.
        connection.request("GET", "/health", headers={"Host": "localhost"})
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
