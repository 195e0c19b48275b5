"""Settings of connections in two parts: what may be shown, and the secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, HttpUrl, SecretBytes, SecretStr

from connections_app.secret_settings import MASK, checked, has_mask, parted, unmasked, whole
from core_app.errors import InvalidInput
from core_app.providers import ConnectionSettings


class Settings(ConnectionSettings):
    url: str
    api_key: SecretStr | None = None
    headers: Mapping[str, SecretStr] = {}
    tries: int = 3


GIVEN: dict[str, Any] = {"url": "http://far", "api_key": "s3cret", "headers": {"X-One": "hidden"}}


def test_secrets_are_masked_where_they_are_shown() -> None:
    shown, secret = parted(checked(Settings, GIVEN))
    assert shown == {"url": "http://far", "api_key": MASK, "headers": {"X-One": MASK}, "tries": 3}
    assert secret == {"api_key": "s3cret", "headers": {"X-One": "hidden"}}
    assert whole(shown, secret) == {**GIVEN, "tries": 3}


def test_a_secret_that_is_not_set_is_none() -> None:
    shown, secret = parted(checked(Settings, {"url": "http://far"}))
    assert (shown["api_key"], secret) == (None, {})


def test_a_mask_stands_for_the_secret_that_is_kept() -> None:
    _shown, secret = parted(checked(Settings, GIVEN))
    sent = {"url": "http://far", "api_key": MASK, "headers": {"X-One": "other"}}
    assert unmasked(sent, secret) == {"url": "http://far", "api_key": "s3cret", "headers": {"X-One": "other"}}


@pytest.mark.parametrize("sent", [{"headers": {"X-Two": MASK}}, {"api_key": {"deep": MASK}}, {"tries": MASK}])
def test_a_mask_without_a_secret_is_refused(sent: dict[str, Any]) -> None:
    _shown, secret = parted(checked(Settings, GIVEN))
    assert has_mask(sent)
    with pytest.raises(InvalidInput):
        unmasked(sent, secret)


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({}, "url"),
        ({"url": "x", "apikey": "s3cret"}, "apikey"),
        ({"url": "x", "api_key": 5}, "api_key"),
        ({"url": "x", "headers": {"X": ["s3cret"]}}, "headers.X"),
    ],
)
def test_a_2_1_what_is_wrong_is_told_by_field_and_without_the_value(sent: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(Settings, sent)
    assert refused.value.code == "invalid_settings"
    assert set(refused.value.errors or {}) == {place}
    assert "s3cret" not in refused.value.detail + str(refused.value.errors)


class Node(BaseModel):
    host: HttpUrl
    token: SecretStr | None = None


class Outside(ConnectionSettings):
    """As a package may bring it."""

    url: HttpUrl
    keys: list[SecretStr] = []
    nodes: tuple[Node, ...] = ()
    certificate: SecretBytes | None = None
    folder: Path = Path("a")
    patience: timedelta = timedelta(seconds=5)


OUTSIDE: dict[str, Any] = {
    "url": "https://far/",
    "keys": ["s3cret", "hidden"],
    "nodes": [{"host": "https://one/"}, {"host": "https://two/", "token": "t0ken"}],
    "certificate": "pem",
}


def test_settings_of_every_type_are_json_and_their_secrets_apart() -> None:
    shown, secret = parted(checked(Outside, OUTSIDE))
    assert json.loads(json.dumps(shown)) == shown
    assert json.loads(json.dumps(secret)) == secret
    assert (shown["url"], shown["keys"], shown["folder"]) == ("https://far/", [MASK, MASK], "a")
    assert shown["nodes"] == [{"host": "https://one/", "token": None}, {"host": "https://two/", "token": MASK}]
    assert secret["nodes"] == [None, {"token": "t0ken"}]
    assert not any(word in json.dumps(shown) for word in ("s3cret", "hidden", "t0ken", "pem"))
    assert checked(Outside, whole(shown, secret)) == checked(Outside, OUTSIDE)


def test_masks_in_lists_stand_for_the_secrets_in_their_places() -> None:
    shown, secret = parted(checked(Outside, OUTSIDE))
    assert has_mask({"keys": [MASK]})
    assert checked(Outside, unmasked(shown, secret)) == checked(Outside, OUTSIDE)
    assert unmasked({"keys": ["new", MASK]}, secret) == {"keys": ["new", "hidden"]}
    for sent in ({"keys": [MASK]}, {"nodes": [{"token": MASK}, {"token": MASK}]}):
        with pytest.raises(InvalidInput):
            unmasked(sent, secret)
