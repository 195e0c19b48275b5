"""API keys: made, recognised, and what they allow."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access_app.acting import identify
from access_app.audit import record
from access_app.models import MAX_PATTERN_LENGTH, ApiKey, Verb
from access_app.patterns import reaches
from core_app.errors import InvalidInput, NotAllowed, NotAuthenticated

_FORM = re.compile(r"rs_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
#: `last_used_at` is for people: once a minute is often enough, and keeps reads from becoming writes.
_LAST_USED_RESOLUTION = timedelta(minutes=1)
_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who is calling and what they may do; the same for keys, keyless loopback calls and commands."""

    name: str
    verbs: frozenset[str]
    collections: tuple[str, ...]

    def may(self, verb: Verb, collection: str | None = None) -> bool:
        """Whether this verb is allowed, on this collection when one is named."""
        return verb in self.verbs and (collection is None or self.reaches(collection))

    def reaches(self, collection: str) -> bool:
        """Whether a collection is within scope: `*` stands for any run of characters, nothing else does."""
        return reaches(self.collections, collection)

    def require(self, verb: Verb, collection: str | None = None) -> None:
        """Raise NotAllowed unless `may`."""
        if verb not in self.verbs:
            raise NotAllowed(f"This API key may not {verb.value}. Ask for one with the verb '{verb.value}'.")
        if collection is not None and not self.reaches(collection):
            raise NotAllowed("This API key does not reach this collection. Ask for one that does.")


#: A call from this machine in Development, and commands of whoever runs the server.
EVERYTHING = Caller(name="local", verbs=frozenset(verb.value for verb in Verb), collections=("*",))


def create_key(
    *, name: str, verbs: Sequence[str], collections: Sequence[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Store a new key and return it with the secret, which can never be read again.

    Raises InvalidInput for an unknown verb and for an empty list: none is never all.
    """
    unknown = sorted(set(verbs) - set(Verb.values))
    if unknown or not verbs:
        raise InvalidInput(f"Name at least one verb of: {', '.join(Verb.values)}.", code="invalid_verbs")
    if not collections or any(not pattern for pattern in collections):
        raise InvalidInput("Name at least one collection or pattern; '*' means all.", code="invalid_scope")
    if not name.strip() or any("\x00" in text or len(text) > most for text, most in _texts(name, collections)):
        raise InvalidInput(
            f"Give the key a name of 1 to {_MAX_NAME_LENGTH} characters, and patterns of at most {MAX_PATTERN_LENGTH}.",
            code="invalid_name",
        )
    prefix = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        key = ApiKey.objects.create(
            name=name,
            prefix=prefix,
            secret_hash=_digest(secret),
            verbs=sorted(set(verbs)),
            collections=list(dict.fromkeys(collections)),
            expires_at=expires_at,
        )
        record("key.made", key, after={"verbs": key.verbs, "collections": key.collections, "expires_at": expires_at})
    return key, f"rs_{prefix}_{secret}"


def revoke_key(*, key: ApiKey) -> None:
    """Refuse this key from now on. One that is revoked already keeps its first date."""
    with transaction.atomic():
        if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
            record("key.revoked", key)


def authenticate(*, presented: str, now: datetime | None = None) -> Caller:
    """The caller behind a presented key.

    Raises NotAuthenticated with the same sentence for every reason, so that nothing can be learnt.
    """
    now = now or timezone.now()
    refused = NotAuthenticated("This API key is not valid. Check it, or ask for a new one.", code="invalid_key")
    form = _FORM.fullmatch(presented)
    if form is None:
        raise refused
    key = ApiKey.objects.filter(prefix=form[1]).first()
    expected = bytes(key.secret_hash) if key else bytes(32)
    matches = hmac.compare_digest(expected, _digest(form[2]))
    if key is None or not matches or key.revoked_at or (key.expires_at and key.expires_at <= now):
        raise refused
    if key.last_used_at is None or now - key.last_used_at > _LAST_USED_RESOLUTION:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _LAST_USED_RESOLUTION)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
    caller = Caller(name=key.name, verbs=frozenset(key.verbs), collections=tuple(key.collections))
    identify(str(key), may_list=lambda collection: caller.may(Verb.READ, collection))
    return caller


def _texts(name: str, collections: Sequence[str]) -> list[tuple[str, int]]:
    """What a key is described by, with the most characters of each."""
    return [(name, _MAX_NAME_LENGTH), *((pattern, MAX_PATTERN_LENGTH) for pattern in collections)]


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()
