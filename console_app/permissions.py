"""What staff may do, in the console's words, told from Django's model permissions and from what each person reaches.

A row that a request has found and an ability that it requires belong together, whichever came first: `require` checks
the rows found so far, `found` (in `pages.py`) the abilities required so far. So no view can ask for an ability that
somebody has on other collections only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
        "clone_collections": (
            "collections.view_collection",
            "collections.add_collection",
            "collections.view_document",
            "collections.view_chunk",
        ),
        "move_collections": (
            "collections.view_collection",
            "collections.change_collection",
            "connections.view_connection",
        ),
        "attach_collections": (
            "collections.view_collection",
            "collections.add_collection",
            "connections.view_connection",
            "connections.change_connection",
        ),
        "fetch_collections": (
            "collections.view_collection",
            "collections.change_collection",
            "collections.view_document",
            "collections.change_document",
            "collections.view_chunk",
            "collections.change_chunk",
            "collections.delete_chunk",
            "connections.view_connection",
            "connections.change_connection",
        ),
        "export_collections": ("collections.view_collection", "collections.view_document", "collections.view_chunk"),
        "import_collections": (
            "collections.view_collection",
            "collections.change_collection",
            "collections.view_document",
            "collections.change_document",
            "collections.view_chunk",
            "collections.change_chunk",
            "collections.delete_chunk",
        ),
        "view_documents": ("collections.view_document",),
        "delete_documents": ("collections.view_document", "collections.delete_document"),
        "view_chunks": ("collections.view_chunk",),
        "change_chunks": ("collections.view_chunk", "collections.change_chunk"),
        "read_documents": ("collections.view_document", "collections.view_chunk"),
        "ingest_again": ("collections.view_document", "ingest.add_job"),
        "query": ("collections.view_collection", "collections.view_chunk"),
        "view_filters": ("collections.view_collection", "collections.view_chunk"),
        "change_filters": (
            "collections.view_collection",
            "collections.view_chunk",
            "collections.change_collection",
        ),
        "view_jobs": ("ingest.view_job",),
        "upload": ("collections.view_collection", "ingest.add_job"),
        "view_connectors": ("collections.view_collection", "ingest.view_connector"),
        "create_connectors": ("collections.view_collection", "ingest.add_connector"),
        "change_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.change_connector"),
        "delete_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.delete_connector"),
        "run_connectors": ("collections.view_collection", "ingest.view_connector", "ingest.add_job"),
        "view_connections": ("connections.view_connection",),
        "create_connections": ("connections.add_connection",),
        "change_connections": ("connections.view_connection", "connections.change_connection"),
        "delete_connections": ("connections.view_connection", "connections.delete_connection"),
        "view_tests": ("collections.view_collection", "collections.view_chunk", "search.view_testcase"),
        "save_tests": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
            "search.add_testcase",
        ),
        "run_tests": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
            "search.add_testrun",
        ),
        "delete_tests": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
            "search.delete_testcase",
        ),
        "view_queries": ("search.view_querylog",),
        "steer_jobs": ("ingest.view_job", "ingest.change_job"),
        "view_keys": ("access.view_apikey",),
        "create_keys": ("access.add_apikey",),
        "revoke_keys": ("access.view_apikey", "access.change_apikey"),
        "view_users": ("access.view_user",),
        "view_groups": ("auth.view_group",),
        "view_audit": ("access.view_auditentry",),
    }
)


_REQUIRED, _FOUND = "_ragsite_required", "_ragsite_found"


def may(user: User | AnonymousUser, ability: str, row: Any = None) -> bool:
    """Whether this user has every permission that the ability needs: on this row, or without one anywhere at all.

    A row is a collection or something of one; a text is a collection's name, of one that is still to be made perhaps.
    """
    return all(user.has_perm(permission, row) for permission in ABILITIES[ability])


def abilities(user: User | AnonymousUser, row: Any = None) -> dict[str, bool]:
    """All abilities by name, for templates; on this row, on a page about one."""
    return {ability: may(user, ability, row) for ability in ABILITIES}


def require(request: HttpRequest, ability: str, row: Any = None) -> None:
    """Raise PermissionDenied, which Django answers with 403, unless the user may, on every row found by then too."""
    vars(request).setdefault(_REQUIRED, []).append(ability)
    rows = [*vars(request).get(_FOUND, ()), *([] if row is None else [row])]
    if not may(request.user, ability) or not all(may(request.user, ability, found) for found in rows):
        raise PermissionDenied


def note_found(request: HttpRequest, row: Any) -> None:
    """Raise PermissionDenied unless the user may do on this row whatever the request has required before."""
    vars(request).setdefault(_FOUND, []).append(row)
    if not all(may(request.user, ability, row) for ability in vars(request).get(_REQUIRED, ())):
        raise PermissionDenied


def allows(ability: str) -> Callable[[HttpRequest], bool]:
    """The ability as a callback of the sidebar."""
    return lambda request: may(request.user, ability)
