"""The groups that Ragsite comes with, and what each may do. A new model's permissions are added here, in one line.

What is added in a later release is given once: see `built_in_groups.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, kw_only=True)
class Role:
    """A group out of the box."""

    #: What it may do, for people.
    words: Promise
    #: The role whose permissions it has besides its own.
    above: str | None
    permissions: Sequence[str]


ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "viewer": Role(
            words=_("Sees collections, documents, chunks, jobs and queries, and tries queries."),
            above=None,
            permissions=(
                "collections.view_collection",
                "collections.view_document",
                "collections.view_chunk",
                "ingest.view_job",
                "search.view_querylog",
                "search.view_testcase",
            ),
        ),
        "editor": Role(
            words=_(
                "What a viewer may, and uploads files, changes documents and chunks, deletes documents, runs "
                "connectors, keeps and runs test cases, and sees what was changed by whom."
            ),
            above="viewer",
            permissions=(
                "collections.change_document",
                "collections.delete_document",
                "collections.change_chunk",
                "search.add_testcase",
                "search.delete_testcase",
                "search.add_testrun",
                "ingest.add_job",
                "ingest.view_connector",
                "access.view_auditentry",
            ),
        ),
        "operator": Role(
            words=_(
                "What an editor may, and makes, changes, empties and deletes collections and connectors, steers jobs, "
                "makes and revokes API keys and, with all collections, connections."
            ),
            above="editor",
            permissions=(
                "collections.add_collection",
                "collections.change_collection",
                "collections.delete_collection",
                "collections.delete_chunk",
                "ingest.add_connector",
                "ingest.change_connector",
                "ingest.delete_connector",
                "ingest.change_job",
                "access.view_apikey",
                "access.add_apikey",
                "access.change_apikey",
                "connections.view_connection",
                "connections.add_connection",
                "connections.change_connection",
                "connections.delete_connection",
            ),
        ),
    }
)


def permissions_of(role: str) -> list[str]:
    """All permissions of a role, those of the roles below it first."""
    found = ROLES[role]
    return [*(permissions_of(found.above) if found.above else ()), *found.permissions]
