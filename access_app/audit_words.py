"""Every action that the audit log knows, and what it is called. An action that is not here cannot be recorded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ACTIONS: Mapping[str, Promise] = MappingProxyType(
    {
        "collection.created": _("Collection created"),
        "collection.metadata_changed": _("Metadata of the collection changed"),
        "collection.changed": _("Name, aliases or model of the collection changed"),
        "collection.search_changed": _("Search settings changed"),
        "collection.chunking_changed": _("Cutting of texts changed"),
        "collection.language_changed": _("Language of the words changed"),
        "collection.cloned": _("Collection copied"),
        "collection.exported": _("Collection exported"),
        "collection.imported": _("Collection imported"),
        "collection.attached": _("Collection of a connection attached"),
        "collection.moved": _("Collection searched elsewhere"),
        "collection.emptied": _("Collection emptied"),
        "collection.deleted": _("Collection deleted"),
        "document.ingested_again": _("Document ingested again"),
        "document.deleted": _("Document deleted"),
        "chunk.changed": _("Chunk changed"),
        "chunks.added": _("Chunks stored"),
        "chunks.deleted": _("Chunks deleted"),
        "filter.saved": _("Filter saved"),
        "filter.renamed": _("Filter renamed"),
        "filter.deleted": _("Filter deleted"),
        "testcase.saved": _("Test case saved"),
        "testcase.deleted": _("Test case deleted"),
        "connector.created": _("Connector made"),
        "connector.changed": _("Connector changed"),
        "connector.deleted": _("Connector removed"),
        "connector.cleared": _("Documents removed whose file is gone"),
        "connection.created": _("Connection made"),
        "connection.changed": _("Connection changed"),
        "connection.deleted": _("Connection removed"),
        "service.collection_created": _("Collection of a service created"),
        "service.metadata_changed": _("Metadata of a service's collection changed"),
        "service.collection_emptied": _("Collection of a service emptied"),
        "service.collection_deleted": _("Collection of a service deleted"),
        "service.chunks_added": _("Chunks stored in a service"),
        "service.chunk_changed": _("Chunk of a service changed"),
        "service.chunks_deleted": _("Chunks of a service deleted"),
        "job.submitted": _("Job submitted"),
        "job.cancelled": _("Job cancelled"),
        "job.retried": _("Job tried again"),
        "key.made": _("API key made"),
        "key.revoked": _("API key revoked"),
        "user.created": _("User created"),
        "user.changed": _("User changed"),
        "user.deleted": _("User deleted"),
        "group.created": _("Group created"),
        "group.changed": _("Group changed"),
        "group.deleted": _("Group deleted"),
    }
)


def words_for(action: str) -> str:
    """An action for people; as it is where a release before or after this one wrote it."""
    return str(ACTIONS.get(action, action))
