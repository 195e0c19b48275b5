"""How an HTTP request says who it is from, and what it may do."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http.request import HttpRequest, split_domain_port
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from access_app.acting import identify
from access_app.models import Verb
from access_app.services import EVERYTHING, Caller, authenticate
from core_app.errors import NotAllowed, NotAuthenticated
from core_app.wiring import loaded_settings

if TYPE_CHECKING:
    from rest_framework.views import APIView


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer KEY` or `X-Api-Key: KEY`; none from this machine in Development."""

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        presented = presented_key(request)
        if presented is not None:
            return None, authenticate(presented=presented)
        if is_keyless(request):
            identify(EVERYTHING.name)
            return None, EVERYTHING
        return None


class OptionalKeyAuthentication(ApiKeyAuthentication):
    """For views that answer everybody, the database up or down, and tell more to those with a key."""

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        try:
            return super().authenticate(request)
        except (NotAuthenticated, DatabaseError, InterfaceError):
            return None


class HasVerb(BasePermission):
    """The caller's key must carry the verb that the view declares for the method, on its collection."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Caller):
            raise NotAuthenticated("Send an API key: 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'.")
        verbs: dict[str, Verb] = getattr(view, "verbs", {})
        verb = verbs.get(request.method or "")
        if verb is None and request.method in {"HEAD", "OPTIONS"}:
            verb = verbs.get("GET", Verb.READ) if request.method == "HEAD" else Verb.READ
        if verb is None:
            if request.method in view.allowed_methods:
                raise NotAllowed("This view declares no verb for this method and so refuses it.")
            return True  # no handler: the view answers 405
        request.auth.require(verb, view.kwargs.get("name"))
        return True


class MayReadDocs(BasePermission):
    """For the API's documentation: any key, or a person who has logged in to the console."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = getattr(request, "user", None)
        if isinstance(request.auth, Caller) or getattr(user, "is_staff", False):
            return True
        raise NotAuthenticated("Send an API key, or log in at /admin/ first.")


def presented_key(request: HttpRequest | Request) -> str | None:
    """The key as the request carries it; None where it carries none."""
    header = request.headers.get("Authorization", "")
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if header:
        raise NotAuthenticated("Send the API key as 'Authorization: Bearer KEY'.", code="invalid_key")
    return request.headers.get("X-Api-Key")


def is_keyless(request: HttpRequest | Request) -> bool:
    """Whether this request needs no key: Development, and certainly from this machine (README 13).

    The bind address keeps others out, the Host header keeps rebound names out, Origin and
    Sec-Fetch-Site keep other sites in the user's browser out, and a forwarding header says that
    somebody else may be behind the connection.
    """
    loaded = loaded_settings()
    if not loaded.is_development or loaded.values.security.require_keys == "always":
        return False
    if not is_loopback(settings.RAGSITE_BIND) or not is_loopback(request.META.get("REMOTE_ADDR", "")):
        return False
    if "Host" not in request.headers:
        return False
    host, _ = split_domain_port(request.get_host())
    if not is_loopback(host.strip("[]")):
        return False
    if any(name.lower().startswith("x-forwarded") or name.lower() == "forwarded" for name in request.headers):
        return False
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return False
    origin = request.headers.get("Origin")
    return origin is None or authority_of(origin) == request.get_host()


def authority_of(origin: str) -> str:
    """Host and port of an origin; empty where it has none, such as `null`."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether this name or address is this machine's own, reachable from nowhere else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
