"""Only what is on the public internet may be reached, and what the operator opened."""

from __future__ import annotations

import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.origins.addresses import Address, allowed_addresses, is_allowed
from ingest_app.origins.found import Unreadable
from ingest_app.origins.time_limit import TimeLimit
from tests.unit.ingest.origins.servers import Names

NOT_PUBLIC = [
    "0.0.0.1", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.8", "192.0.0.9", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:7f00:1",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:4136:e378::1",
    "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1",
    "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0",
    "febf::1", "fec0::1", "ff02::1", "ff0e::1", "ffff::1",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "93.184.216.34", "100.63.255.255", "100.128.0.1",
    "126.255.255.255", "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.1", "192.167.1.1",
    "198.17.255.255", "198.20.0.1", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111",
    "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
]  # fmt: skip

v4 = st.ip_addresses(v=4).map(IPv4Address)
addresses: st.SearchStrategy[Address] = st.ip_addresses()
networks = st.builds(
    lambda address, length: ip_network(f"{address}/{min(length, address.max_prefixlen)}", strict=False),
    addresses,
    st.integers(0, 128),
)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not is_allowed(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_allowed(address: str) -> None:
    assert is_allowed(ip_address(address))


@given(address=addresses)
def test_nothing_that_python_knows_as_special_is_allowed(address: Address) -> None:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or not address.is_global
    )
    nat64 = address in ip_network("64:ff9b::/96")
    assert not (special and is_allowed(address)) or nat64


@given(inner=v4 | st.sampled_from([a for a in NOT_PUBLIC + PUBLIC if ":" not in a]).map(IPv4Address))
def test_an_address_inside_another_is_judged_as_itself(inner: IPv4Address) -> None:
    expected = is_allowed(inner)
    assert is_allowed(ip_address(f"::ffff:{inner}")) == expected
    assert is_allowed(ip_address(f"64:ff9b::{inner}")) == expected
    assert not is_allowed(IPv6Address((0x2002 << 112) | (int(inner) << 80) | 1))


@given(address=addresses | v4.map(lambda inner: ip_address(f"::ffff:{inner}")), network=networks)
def test_a_network_that_was_opened_is_all_that_was_opened(address: Address, network: object) -> None:
    opened = ip_network(str(network))
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    within = address in opened or (inner is not None and inner in opened)
    if address in ip_network("64:ff9b::/96"):
        within = within or ip_address(int(address) & 0xFFFFFFFF) in opened
    assert is_allowed(address, allowed=[opened]) == (within or is_allowed(address))


def limit(seconds: float = 30) -> TimeLimit:
    return TimeLimit(seconds=seconds, late=Unreadable("late", code="fetch_timeout"), check=lambda: None)


def looked_up(*answers: str, allowed: str | None = None) -> list[str]:
    opened = [ip_network(allowed)] if allowed else []
    names = Names({"host.example": [list(answers)]})
    found = allowed_addresses(host="host.example", port=80, allowed=opened, time_limit=limit(), resolve=names)
    return [str(address) for address in found]


def test_all_public_addresses_of_a_name_are_given() -> None:
    assert looked_up("8.8.8.8", "2606:4700::1111", "8.8.8.8") == ["8.8.8.8", "2606:4700::1111"]


@pytest.mark.parametrize(
    "answers", [("8.8.8.8", "127.0.0.1"), ("::1", "8.8.8.8"), ("8.8.8.8", "::ffff:10.0.0.1"), ("10.0.0.1",)]
)
def test_one_address_inside_refuses_the_name(answers: tuple[str, ...]) -> None:
    with pytest.raises(Unreadable) as caught:
        looked_up(*answers)
    assert caught.value.code == "private_address"
    assert not [answer for answer in answers if answer in caught.value.detail]


def test_an_opened_network_opens_a_name_in_it() -> None:
    assert looked_up("10.0.0.1", "8.8.8.8", allowed="10.0.0.0/8") == ["10.0.0.1", "8.8.8.8"]


@pytest.mark.parametrize("names", [Names({}), Names({"host.example": [[]]})])
def test_a_name_that_nobody_knows_is_said_so(names: Names) -> None:
    with pytest.raises(Unreadable, match=r"no host named host\.example") as caught:
        allowed_addresses(host="host.example", port=80, allowed=[], time_limit=limit(), resolve=names)
    assert caught.value.code == "fetch_failed"


def test_a_look_up_that_never_ends_is_given_up() -> None:
    over = threading.Event()

    def hang(host: str, port: int) -> list[str]:
        over.wait(60)
        return ["8.8.8.8"]

    with pytest.raises(Unreadable) as caught:
        allowed_addresses(host="host.example", port=80, allowed=[], time_limit=limit(0.3), resolve=hang)
    over.set()
    assert caught.value.code == "fetch_timeout"
