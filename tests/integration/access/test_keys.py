"""API keys in the database: made once, kept as a hash, recognised or refused with one sentence."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from access_app.models import ApiKey, Verb
from access_app.services import Caller, authenticate, create_key
from core_app.errors import InvalidInput, NotAuthenticated

pytestmark = pytest.mark.django_db


def refused(presented: str) -> NotAuthenticated:
    with pytest.raises(NotAuthenticated) as caught:
        authenticate(presented=presented)
    return caught.value


def test_a_key_opens_what_it_was_made_for() -> None:
    key, secret = create_key(name="app", verbs=["search", "read", "read"], collections=["docs", "team-*", "docs"])
    assert authenticate(presented=secret) == Caller(
        name="app", verbs=frozenset({Verb.READ, Verb.SEARCH}), collections=("docs", "team-*")
    )
    assert str(key) == f"app ({key.prefix})"


def test_the_secret_is_nowhere_in_the_database() -> None:
    key, secret = create_key(name="app", verbs=["read"], collections=["*"])
    random_part = secret.removeprefix(f"rs_{key.prefix}_")
    assert len(random_part) == 43
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM access_apikey k")
        ((row,),) = cursor.fetchall()
    assert key.prefix in row
    assert random_part not in row
    assert bytes(ApiKey.objects.get().secret_hash) == hashlib.sha256(random_part.encode()).digest()


def test_no_two_keys_are_alike() -> None:
    secrets = [create_key(name="app", verbs=["read"], collections=["*"])[1] for _ in range(20)]
    assert len({secret.split("_", 2)[1] for secret in secrets}) == 20
    assert len({secret.split("_", 2)[2] for secret in secrets}) == 20


def test_every_reason_is_refused_with_the_same_sentence() -> None:
    """So that nothing can be learnt by trying."""
    now = timezone.now()
    key, secret = create_key(name="good", verbs=["read"], collections=["*"])
    _expired, expired = create_key(name="old", verbs=["read"], collections=["*"], expires_at=now)
    gone, revoked = create_key(name="gone", verbs=["read"], collections=["*"])
    ApiKey.objects.filter(pk=gone.pk).update(revoked_at=now)
    wrong = f"rs_{key.prefix}_{'A' * 43}"
    unknown = f"rs_{'0' * 12}_{'A' * 43}"
    malformed = ["", "x", secret[:-1], secret + "A", secret + "\n", " " + secret, secret.upper(), secret + "\x00", "é"]
    errors = [refused(presented) for presented in [expired, revoked, wrong, unknown, *malformed]]
    assert {(error.detail, error.code) for error in errors} == {
        ("This API key is not valid. Check it, or ask for a new one.", "invalid_key")
    }
    assert authenticate(presented=secret).name == "good"


def test_an_expiry_in_the_future_is_not_reached() -> None:
    moment = timezone.now() + timedelta(days=1)
    _key, secret = create_key(name="app", verbs=["read"], collections=["*"], expires_at=moment)
    assert authenticate(presented=secret, now=moment - timedelta(microseconds=1)).name == "app"
    with pytest.raises(NotAuthenticated):
        authenticate(presented=secret, now=moment)


@pytest.mark.parametrize(
    ("name", "verbs", "collections", "code"),
    [
        ("app", [], ["*"], "invalid_verbs"),
        ("app", ["fly"], ["*"], "invalid_verbs"),
        ("app", ["read", "READ"], ["*"], "invalid_verbs"),
        ("app", ["read"], [], "invalid_scope"),
        ("app", ["read"], [""], "invalid_scope"),
        ("app", ["read"], ["docs", ""], "invalid_scope"),
        ("", ["read"], ["*"], "invalid_name"),
        ("  ", ["read"], ["*"], "invalid_name"),
        ("x" * 201, ["read"], ["*"], "invalid_name"),
        ("a\x00", ["read"], ["*"], "invalid_name"),
        ("app", ["read"], ["x" * 513], "invalid_name"),
        ("app", ["read"], ["a\x00"], "invalid_name"),
    ],
)
def test_none_is_never_all_and_bad_descriptions_are_refused(
    name: str, verbs: list[str], collections: list[str], code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        create_key(name=name, verbs=verbs, collections=collections)
    assert caught.value.code == code
    assert not ApiKey.objects.exists()


def test_a_name_and_a_pattern_of_the_greatest_length_are_kept() -> None:
    _key, secret = create_key(name="x" * 200, verbs=["read"], collections=["y" * 512])
    assert authenticate(presented=secret).reaches("y" * 512)


def test_the_last_use_is_noted_once_a_minute() -> None:
    key, secret = create_key(name="app", verbs=["read"], collections=["*"])
    first = timezone.now()
    for later, noted in ((0, 0), (30, 0), (61, 61), (90, 61)):
        authenticate(presented=secret, now=first + timedelta(seconds=later))
        assert ApiKey.objects.get(pk=key.pk).last_used_at == first + timedelta(seconds=noted)


def test_a_refused_key_is_not_noted_as_used() -> None:
    key, _secret = create_key(name="app", verbs=["read"], collections=["*"])
    refused(f"rs_{key.prefix}_{'A' * 43}")
    assert ApiKey.objects.get(pk=key.pk).last_used_at is None
