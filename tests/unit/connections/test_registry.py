"""A1: providers are found by name; one that is broken stops none of the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from connections_app import registry
from connections_app.providers.remote import RemoteProvider
from connections_app.registry import listed, provider_named
from core_app.errors import InvalidInput, Unavailable
from core_app.providers import MEANINGS, Capability, ConnectionSettings
from gateway_app.here import PgVectorProvider
from ragsite import wiring
from tests.unit.docs.pages import ROOT, text


class Lacking:
    """Has a name and nothing else."""

    label = "Lacking"


class NoSchema(ConnectionSettings):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    made_by: Callable[[], int] = int


class WithoutSchema(RemoteProvider):
    settings_model = NoSchema


class OtherModel(RemoteProvider):
    settings_model = BaseModel  # type: ignore[assignment]


class OddCapabilities(RemoteProvider):
    capabilities = frozenset({"flying"})  # type: ignore[arg-type]


class Boastful(PgVectorProvider):
    capabilities = frozenset({Capability.RERANKING})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    listed.cache_clear()
    yield
    listed.cache_clear()


def brings(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [EntryPoint(name=name, value=value, group=registry.GROUP) for name, value in points.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: found if group == registry.GROUP else [])


class WithoutModel:
    """Embeds, but does not say by which model."""

    kind = "embeddings"
    label = "Without a model"
    capabilities = frozenset({"embeddings"})
    settings_model = ConnectionSettings


class OfNoKind(RemoteProvider):
    kind = "telepathy"


def test_they_are_of_three_kinds() -> None:
    kinds = {name: one.kind for name, one in listed().items()}
    assert (kinds["remote"], kinds["openai-embeddings"], kinds["openai-chat"]) == ("store", "embeddings", "chat")


def test_what_a_kind_lacks_is_named_and_an_unknown_kind_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.unit.connections.test_registry"
    brings(monkeypatch, lacking=f"{here}:WithoutModel", odd=f"{here}:OfNoKind")
    found = listed()
    assert "embed_documents" in found["lacking"].reason
    assert "model" in found["lacking"].reason
    assert (found["odd"].provider, found["odd"].kind) == (None, None)


def test_a_1_2_the_built_in_ones_are_listed_with_capabilities_and_schema() -> None:
    remote = listed()["remote"]
    assert remote.provider is RemoteProvider
    assert {"collections", "search", "metadata_filtering"} <= set(remote.capabilities)
    schema: Any = remote.connection_schema
    assert schema["properties"]["url"]["title"] == "Address"
    secret = schema["properties"]["api_key"]["anyOf"][0]
    assert (secret["format"], secret["writeOnly"]) == ("password", True)


def test_a_2_1_every_setting_has_a_title_and_says_what_it_is() -> None:
    for one in listed().values():
        for name, field in (one.connection_schema or {}).get("properties", {}).items():
            assert field["title"], name
            assert field["description"].endswith("."), name


def test_a_1_1_a_package_brings_one_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    brings(monkeypatch, another="connections_app.providers.remote:RemoteProvider")
    assert provider_named("another") is RemoteProvider


def test_a_1_3_broken_ones_are_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    brings(
        monkeypatch,
        nowhere="no_such_module:Provider",
        lacking="tests.unit.connections.test_registry:Lacking",
        remote="no_such_module:Provider",
    )
    found = listed()
    assert found["remote"].provider is RemoteProvider, "a package does not take the name of one that is there"
    assert found["nowhere"].provider is None
    assert "no_such_module" not in found["nowhere"].reason
    assert "health_check" in found["lacking"].reason
    with pytest.raises(Unavailable):
        provider_named("nowhere")


@pytest.mark.parametrize("name", ["WithoutSchema", "OtherModel", "OddCapabilities"])
def test_a_1_3_one_whose_settings_cannot_be_told_stops_no_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    brings(monkeypatch, odd=f"tests.unit.connections.test_registry:{name}")
    assert listed()["odd"].provider is None
    assert "log has the cause" in listed()["odd"].reason
    assert (listed()["odd"].connection_schema, listed()["odd"].capabilities) == (None, [])
    assert listed()["remote"].connection_schema


def test_a_1_3_one_whose_client_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    brings(monkeypatch)
    monkeypatch.setattr(wiring, "PROVIDERS", {"chroma": ("no_such_module.Provider", "no_such_module")})
    chroma = listed()["chroma"]
    assert "script/install base no_such_module" in chroma.reason
    assert (chroma.is_installed, chroma.install_command) == (False, "script/install base no_such_module")


def test_one_that_declares_reranking_can_rerank(monkeypatch: pytest.MonkeyPatch) -> None:
    brings(monkeypatch, boastful="tests.unit.connections.test_registry:Boastful")
    assert listed()["boastful"].reason == "The provider 'boastful' lacks rerank."


def test_a_1_3_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="remote"):
        provider_named("qdrant")


def test_a_2_2_every_capability_is_explained_in_the_docs() -> None:
    page = text(ROOT / "docs" / "connections.md")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.M))
    plain = {name: re.sub(r"\[(\w+)\]\([\w.]+\)", r"\1", sentence) for name, sentence in rows.items()}
    assert {capability: plain.get(capability) for capability in Capability} == dict(MEANINGS)
