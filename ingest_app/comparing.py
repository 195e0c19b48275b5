"""A place compared with what a collection holds of it: what is new, changed, unchanged, gone."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection, Document
from collections_app.services import lock_collection, touch
from core_app.errors import Conflict, InvalidInput, RagsiteError
from ingest_app.indexing import content_hash_of
from ingest_app.leases import Lease, hold
from ingest_app.origins.found import FoundFile, Unreadable
from ingest_app.ownership import other_origins, taken_by_another
from ingest_app.parsing import sniff
from ingest_app.parsing.media_types import ZIP
from ingest_app.removing import remove_document

#: Documents removed in one transaction: a collection is locked for no longer than that takes.
REMOVED_TOGETHER = 50


#: The code of a file whose name another one has.
DUPLICATE = "duplicate_source"


class Difference(StrEnum):
    """What is to be done with a file."""

    NEW = "new"
    CHANGED = "changed"
    #: New here, but a document of this name came another way: it is replaced, and belongs to this place then.
    ADOPTED = "adopted"
    #: Which of its files changed is seen once it is taken apart.
    ARCHIVE = "archive"
    UNCHANGED = "unchanged"
    #: It cannot be had, or may not be indexed.
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One file of a place. The content is empty where there is nothing to index."""

    name: str
    difference: Difference
    content: bytes = b""
    problem: RagsiteError | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one file, or of one in an archive."""

    source: str
    #: Then nobody knows whether it is an archive, and what would be in it.
    failed: bool


class Comparison:
    """Compares files one at a time by their hashes, and knows at the end which documents have none any more.

    None is a collection that is yet to be made. Changes nothing.
    """

    def __init__(self, *, collection: Collection | None, origin: str, metadata: Mapping[str, Any]) -> None:
        self._collection = collection
        self._origin = origin
        self._metadata = metadata
        self._present: set[str] = set()
        #: What is, or may be, an archive: the sources of its files begin with its name.
        self._archives: list[str] = []
        self._known: dict[str, str] = {}
        #: The marks of other connectors: what these brought is not taken from them.
        self._others: Sequence[str] = ()
        if collection is not None:
            # Those whose last version failed are looked at again: their error is to go, too.
            ready = Document.objects.filter(
                collection=collection, origin=origin, state=Document.State.READY, error_code=""
            )
            self._known = dict(ready.values_list("source", "content_hash"))
            self._others = other_origins(collection_id=collection.pk, origin=origin)

    def files(
        self, found: Iterable[FoundFile], *, but: Container[str] = (), told: Container[str] = ()
    ) -> Iterator[Compared]:
        """Each file with what is to be done. Those named in `but` are known to be there and not read.

        That two files have a name is not said again of those in `told`.
        """
        for file in found:
            if file.name in self._present and file.name in told:
                continue
            if file.name in self._present:
                twice = Conflict("Another file has the same name. Give each its own.", code=DUPLICATE)
                yield Compared(name=file.name, difference=Difference.REFUSED, problem=twice)
                continue
            self._present.add(file.name)
            if file.name in but:
                self._archives.append(file.name)
                continue
            try:
                yield self._compare(file.name, file.read())
            except (Unreadable, Conflict) as error:
                self._archives.append(file.name)
                yield Compared(name=file.name, difference=Difference.REFUSED, problem=error)

    def vanished(self, outcomes: Iterable[Outcome] = ()) -> list[str]:
        """Sources that came from the place once and are not in it any more; to be asked when all files were compared.

        `outcomes` are what became of those that were to be indexed, and of the files of their archives. What an
        archive held whose files are not known now is not taken for gone. Raises InvalidInput for a place without
        files: more often than not it is one that is not mounted, and everything would seem to have gone.
        """
        if not self._present:
            raise InvalidInput("It holds no file, so nothing was done. Is it the right one?", code="empty_folder")
        if self._collection is None:
            return []
        present, closed = set(self._present), set(self._archives)
        for outcome in outcomes:
            present.add(outcome.source)
            if outcome.failed:
                closed.add(outcome.source)
            else:
                closed.discard(outcome.source)
        within = tuple(f"{name}/" for name in closed)
        synced = Document.objects.filter(collection=self._collection, origin=self._origin).order_by("source")
        sources = synced.values_list("source", flat=True)
        return [source for source in sources if source not in present and not source.startswith(within)]

    def _compare(self, name: str, content: bytes) -> Compared:
        if sniff(name=name, content=content) == ZIP:
            self._archives.append(name)
            return Compared(name=name, difference=Difference.ARCHIVE, content=content)
        known = self._known.get(name)
        if known is None or self._collection is None:
            return Compared(name=name, difference=self._difference_of_new(name), content=content)
        same = known == content_hash_of(
            collection=self._collection, name=name, content=content, metadata=self._metadata
        )
        if same:
            return Compared(name=name, difference=Difference.UNCHANGED)
        return Compared(name=name, difference=Difference.CHANGED, content=content)

    def _difference_of_new(self, name: str) -> Difference:
        """Raises Conflict where another connector has brought a document of this name."""
        found = Document.objects.filter(collection=self._collection, source=name).values_list("origin", "state")
        origin, state = found.first() or (None, None)
        if origin == self._origin:  # its last version failed; an older one may serve still
            return Difference.CHANGED if state == Document.State.READY else Difference.NEW
        if origin is None:
            return Difference.NEW
        if origin in self._others:
            raise taken_by_another()
        return Difference.ADOPTED


def remove_vanished(
    *,
    collection: Collection,
    sources: Sequence[str],
    origin: str,
    lease: Lease | None = None,
    goes_on: Callable[[int], bool] | None = None,
) -> int:
    """Remove these documents, some at a time, as long as they still are of that origin; the number removed.

    Within a job its lease is held meanwhile. `goes_on` is asked before each portion, and told how many are gone.
    """
    removed = 0
    for start in range(0, len(sources), REMOVED_TOGETHER):
        if goes_on is not None and not goes_on(removed):
            break
        with transaction.atomic():
            locked = lock_collection(collection_id=collection.pk)
            if lease is not None:
                hold(lease=lease)
            named = Document.objects.filter(source__in=sources[start : start + REMOVED_TOGETHER])
            found = named.filter(collection=locked, origin=origin).order_by("source")
            gone = [document.source for document in found]
            for document in found:
                remove_document(collection=locked, document=document)
            removed += len(gone)
            if gone:
                record("connector.cleared", locked, before={"documents": len(gone), "sources": gone})
            touch(collection=locked)
    return removed
