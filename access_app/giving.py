"""What a person may hand on: nobody gives a key more than they have themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from access_app.models import User, Verb
from access_app.patterns import in_words, reaches
from access_app.reach import patterns_of
from core_app.errors import NotAllowed

#: What stands behind each verb of the API, as permissions.
BEHIND: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        Verb.READ: (
            "collections.view_collection",
            "collections.view_document",
            "collections.view_chunk",
            "ingest.view_job",
            "ingest.view_connector",
            "search.view_testcase",
        ),
        Verb.SEARCH: ("collections.view_collection", "collections.view_chunk", "search.add_testrun"),
        Verb.WRITE: (
            "collections.add_collection",
            "collections.change_collection",
            "collections.change_document",
            "collections.change_chunk",
            "ingest.add_job",
            "ingest.change_job",
            "search.add_testcase",
        ),
        Verb.DELETE: (
            "collections.delete_collection",
            "collections.delete_document",
            "collections.delete_chunk",
            "search.delete_testcase",
        ),
        Verb.RESEARCH: ("collections.view_collection", "collections.view_chunk"),
        Verb.ADMIN: ("ingest.add_connector", "ingest.change_connector", "ingest.delete_connector"),
    }
)


def check_gift(*, giver: User, verbs: Sequence[str], collections: Sequence[str]) -> None:
    """Raise NotAllowed unless the giver may make keys, and do what the key may, on every collection it reaches."""
    for permission in ("access.add_apikey", *(need for verb in verbs for need in BEHIND.get(verb, ()))):
        held = patterns_of(giver, permission)
        beyond = [pattern for pattern in collections if not reaches(held, pattern)]
        if beyond:
            raise NotAllowed(
                f"Your account cannot give this: the permission '{permission}' is yours on {in_words(sorted(held))}, "
                f"and '{beyond[0]}' is more. Choose fewer verbs or other collections."
            )
