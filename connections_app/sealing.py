"""Secrets of connections: encrypted where they are kept, with keys that the environment gives.

Fernet: AES-128 in CBC mode with an HMAC of SHA-256 (https://github.com/fernet/spec).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from core_app.errors import Unavailable
from core_app.wiring import app_settings

_PURPOSE = b"ragsite connection secrets"


def seal(secrets: Mapping[str, Any]) -> bytes:
    """Encrypted with the first key."""
    return _fernet().encrypt(json.dumps(secrets).encode())


def unseal(sealed: bytes | memoryview[int]) -> dict[str, Any]:
    """What `seal` was given, with whichever key it was. Raises Unavailable where no key fits."""
    try:
        opened: dict[str, Any] = json.loads(_fernet().decrypt(bytes(sealed)))
    except InvalidToken:
        raise Unavailable(
            "The secrets of this connection were encrypted with a key that is not configured any more. "
            "Enter them again, or put the old key back behind the new one in Security:ConnectionKeys.",
            code="secrets_unreadable",
        ) from None
    return opened


def _fernet() -> MultiFernet:
    given = [key.get_secret_value() for key in app_settings().security.connection_keys]
    return MultiFernet([_key(text) for text in given or [settings.SECRET_KEY]])


def _key(text: str) -> Fernet:
    """A key of the length that Fernet wants, of a text that is random enough (RFC 5869)."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(text.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
