"""Which machines may be reached for a user: the public internet, and networks that the operator opened."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from ingest_app.origins.found import Unreadable
from ingest_app.origins.time_limit import TimeLimit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
#: All addresses of a host name, as text. Raises OSError where there is none.
Resolver = Callable[[str, int], Sequence[str]]

# Written out, for what `is_global` knows depends on the version of Python; it is asked besides. The IANA's
# registries of special addresses, and multicast, which `is_global` takes for global.
_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # behind a provider's NAT; also a cloud's metadata at 100.100.100.200
            "127.0.0.0/8",
            "168.63.129.16/32",  # looks public; answers only inside Azure, and hands out configuration
            "169.254.0.0/16",  # link-local, and the metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
#: All that was ever given out for the public internet; loopback, fc00::/7, fe80::/10 and fec0::/10 lie outside.
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4: leads to the IPv4 address inside, through relays nobody should need
            "3fff::/20",
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_WAIT_SECONDS = 0.2


def is_allowed(address: Address, *, allowed: Sequence[Network] = ()) -> bool:
    """Whether this address is public, or in a network that was opened by name."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _NOT_PUBLIC_4)
    inner = _inner(address)
    if inner is not None:
        return is_allowed(inner, allowed=allowed)
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC_6)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a connection to this one really goes to.

    Networks without IPv4 see all of it behind 64:ff9b::/96, so that is judged by what is inside and not refused.
    """
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def system_resolver(host: str, port: int) -> Sequence[str]:
    """What this machine knows of a host name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def allowed_addresses(
    *, host: str, port: int, allowed: Sequence[Network], time_limit: TimeLimit, resolve: Resolver = system_resolver
) -> list[Address]:
    """The addresses of a host, looked up once. Connect to these and never look the name up again.

    One that is not allowed refuses the host, even beside others that are: such a name is either meant to lead inside
    or set up differently inside and outside, and which one is reached must not depend on chance. Raises Unreadable.
    """
    addresses = _addresses(host, port, time_limit, resolve)
    if not addresses:
        raise Unreadable(f"There is no host named {host}. Check the URL.", code="fetch_failed")
    if not all(is_allowed(address, allowed=allowed) for address in addresses):
        # Which address it is stays here: it would tell how the network behind this server is laid out.
        raise Unreadable(
            f"{host} is not on the public internet, so it is not read. Whoever runs this server can open its network "
            "in Ingestion:AllowedPrivateNetworks.",
            code="private_address",
        )
    return addresses


def _addresses(host: str, port: int, time_limit: TimeLimit, resolve: Resolver) -> list[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return list(dict.fromkeys(map(ip_address, _looked_up(host, port, time_limit, resolve))))


def _looked_up(host: str, port: int, time_limit: TimeLimit, resolve: Resolver) -> Sequence[str]:
    """Ask in a thread: the system takes as long as it likes to find a name, and cannot be stopped."""
    found: list[str] = []

    def ask() -> None:
        try:
            found.extend(resolve(host, port))
        except (OSError, UnicodeError):
            return  # No such name: nothing found says so.

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(min(_WAIT_SECONDS, time_limit.left()))
    return found
