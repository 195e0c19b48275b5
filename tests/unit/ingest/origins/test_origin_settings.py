"""The settings of what may be read, as an operator writes them."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path

import pytest

from core_app.config_loading import ConfigurationError, load_settings, masked

VARIABLE = "Ingestion__AllowedPrivateNetworks"


@pytest.mark.parametrize(
    ("text", "networks"),
    [
        ("", []),
        ("10.0.0.0/8", ["10.0.0.0/8"]),
        ("10.0.0.0/8, fd00::/8,", ["10.0.0.0/8", "fd00::/8"]),
        ('["192.168.1.5"]', ["192.168.1.5/32"]),
    ],
)
def test_networks_are_read_from_the_environment(tmp_path: Path, text: str, networks: list[str]) -> None:
    values = load_settings(folder=tmp_path, environ={VARIABLE: text}).values
    assert values.ingestion.allowed_private_networks == tuple(map(ip_network, networks))
    assert json.loads(json.dumps(masked(values)))["Ingestion"]["AllowedPrivateNetworks"] == networks


def test_nothing_private_is_open_by_default(tmp_path: Path) -> None:
    assert load_settings(folder=tmp_path, environ={}).values.ingestion.allowed_private_networks == ()


@pytest.mark.parametrize("text", ["10.0.0.1/8", "intranet", "[5]", "10.0.0.0/33", '["10.0.0.0/8", null]'])
def test_what_is_no_network_stops_the_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(folder=tmp_path, environ={VARIABLE: text})
    (line,) = caught.value.lines
    assert line.startswith("Ingestion:AllowedPrivateNetworks:")
    assert "must be a network such as 10.0.0.0/8" in line


@pytest.mark.parametrize("key", ["FetchTimeoutSeconds", "CloneTimeoutSeconds", "MaxCloneBytes"])
def test_a_limit_of_nothing_stops_the_start(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Ingestion:{key}: "):
        load_settings(folder=tmp_path, environ={f"Ingestion__{key}": "0"})
