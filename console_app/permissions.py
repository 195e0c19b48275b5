"""What staff may do, in the console's words, told from Django's model permissions alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

if TYPE_CHECKING:
    # Settings import this module for the sidebar, before any model can be.
    from django.contrib.auth.models import AnonymousUser

    from access_app.models import User

#: Ability to the permissions it needs, all of them. Pages that show text of several models need each.
ABILITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "view_collections": ("collections.view_collection",),
        "create_collections": ("collections.add_collection",),
        "change_collections": ("collections.view_collection", "collections.change_collection"),
        "delete_collections": ("collections.view_collection", "collections.delete_collection"),
        "empty_collections": (
            "collections.view_collection",
            "collections.delete_document",
            "collections.delete_chunk",
        ),
        "view_documents": ("collections.view_document",),
        "delete_documents": ("collections.view_document", "collections.delete_document"),
        "view_chunks": ("collections.view_chunk",),
        "query": ("collections.view_collection", "collections.view_chunk"),
        "view_jobs": ("ingest.view_job",),
        "upload": ("collections.view_collection", "ingest.add_job"),
        "view_connectors": ("collections.view_collection", "ingest.view_connector"),
        "create_connectors": ("collections.view_collection", "ingest.add_connector"),
        "change_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.change_connector"),
        "delete_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.delete_connector"),
        "run_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.add_job"),
        "view_queries": ("search.view_querylog",),
        "steer_jobs": ("ingest.view_job", "ingest.change_job"),
        "view_keys": ("access.view_apikey",),
        "create_keys": ("access.add_apikey",),
        "revoke_keys": ("access.view_apikey", "access.change_apikey"),
        "view_users": ("access.view_user",),
        "view_groups": ("auth.view_group",),
    }
)


def may(user: User | AnonymousUser, ability: str) -> bool:
    """Whether this user has every permission that the ability needs."""
    return all(user.has_perm(permission) for permission in ABILITIES[ability])


def abilities(user: User | AnonymousUser) -> dict[str, bool]:
    """All abilities by name, for templates."""
    return {ability: may(user, ability) for ability in ABILITIES}


def require(request: HttpRequest, ability: str) -> None:
    """Raise PermissionDenied, which Django answers with 403, unless the user may."""
    if not may(request.user, ability):
        raise PermissionDenied


def allows(ability: str) -> Callable[[HttpRequest], bool]:
    """The ability as a callback of the sidebar."""
    return lambda request: may(request.user, ability)
