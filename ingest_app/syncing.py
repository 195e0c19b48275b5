"""A folder kept in step with a collection: what is new or changed goes in, what is gone goes out if that is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from collections_app.models import Collection, Document
from collections_app.services import lock_collection, touch
from core_app.errors import InvalidInput
from core_app.wiring import app_settings
from ingest_app.indexing import content_hash_of, remove_chunks
from ingest_app.parsing import sniff
from ingest_app.parsing.media_types import ZIP
from ingest_app.submitting import Source, clean_text

#: Documents removed in one transaction: a collection is locked for no longer than that takes.
REMOVED_TOGETHER = 200


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """A file below a folder; `name` is its place in it, with `/`, and the source of its document."""

    name: str
    path: Path


@dataclass(kw_only=True)
class SyncPlan:
    """What is to be done to bring a collection in step with a folder. Archives are looked into only while indexing."""

    origin: str
    new: list[FolderFile] = field(default_factory=list)
    changed: list[FolderFile] = field(default_factory=list)
    archives: list[FolderFile] = field(default_factory=list)
    unchanged: int = 0
    #: Sources that came from this folder once and are not in it any more.
    vanished: list[str] = field(default_factory=list)
    #: Files that cannot be read, and why.
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    @property
    def to_send(self) -> Sequence[FolderFile]:
        """What has to be indexed, in the order of names."""
        return sorted([*self.new, *self.changed, *self.archives], key=lambda file: file.name)


def folder_origin(folder: Path) -> str:
    """Marks the documents that were synced from a folder."""
    return clean_text(f"folder:{folder.resolve().as_posix()}")


def files_below(folder: Path) -> Iterator[FolderFile]:
    """The files of a folder and the folders in it, in the order of their names; none that is hidden."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not any(part.startswith(".") for part in relative.parts) and path.is_file():
            yield FolderFile(name=clean_text(relative.as_posix()), path=path)


def plan_sync(*, collection: Collection | None, folder: Path, metadata: Mapping[str, Any]) -> SyncPlan:
    """Compare a folder with what a collection holds of it, by the hash of each file. Changes nothing.

    None is a collection that is yet to be made. Raises InvalidInput for a folder without files: more often than
    not it is one that is not mounted, and everything would seem to have gone.
    """
    plan = SyncPlan(origin=folder_origin(folder))
    known: dict[str, str] = {}
    if collection is not None:
        ready = Document.objects.filter(collection=collection, state=Document.State.READY)
        known = dict(ready.values_list("source", "content_hash"))
    present: set[str] = set()
    for file in files_below(folder):
        present.add(file.name)
        content = _read(file, plan)
        if content is None:
            continue
        if sniff(name=file.name, content=content) == ZIP:
            plan.archives.append(file)
        elif file.name not in known:
            plan.new.append(file)
        elif collection is not None and known[file.name] == content_hash_of(
            collection=collection, name=file.name, content=content, metadata=metadata
        ):
            plan.unchanged += 1
        else:
            plan.changed.append(file)
    if not present:
        raise InvalidInput("The folder holds no file, so nothing was done. Is it the right one?", code="empty_folder")
    if collection is not None:
        plan.vanished = _vanished(collection, plan, present)
    return plan


def _read(file: FolderFile, plan: SyncPlan) -> bytes | None:
    """The file's bytes; None, with the reason in the plan, where they cannot be had."""
    largest = app_settings().ingestion.max_file_bytes
    try:
        if file.path.stat().st_size <= largest:
            return file.path.read_bytes()
        plan.unreadable.append((file.name, f"Larger than {largest} bytes. Split it."))
    except OSError as error:
        plan.unreadable.append((file.name, f"It could not be read: {error.strerror}."))
    return None


def _vanished(collection: Collection, plan: SyncPlan, present: set[str]) -> list[str]:
    """Documents of this origin without a file. What an archive that is still there holds is not looked into."""
    within = tuple(f"{archive.name}/" for archive in plan.archives)
    synced = Document.objects.filter(collection=collection, origin=plan.origin).order_by("source")
    sources = synced.values_list("source", flat=True)
    return [source for source in sources if source not in present and not source.startswith(within)]


def sources_of(files: Sequence[FolderFile], *, origin: str, metadata: Mapping[str, Any]) -> Iterator[Source]:
    """The files' contents, read one at a time. One that went away meanwhile is left out."""
    for file in files:
        try:
            content = file.path.read_bytes()
        except OSError:
            continue
        yield Source(name=file.name, content=content, metadata=metadata, origin=origin)


def remove_vanished(*, collection: Collection, sources: Sequence[str], origin: str) -> int:
    """Remove these documents, as long as they still are of that origin; the number removed."""
    removed = 0
    for start in range(0, len(sources), REMOVED_TOGETHER):
        with transaction.atomic():
            locked = lock_collection(collection_id=collection.pk)
            found = Document.objects.filter(
                collection=locked, origin=origin, source__in=sources[start : start + REMOVED_TOGETHER]
            )
            for document in found:
                remove_chunks(collection=locked, document=document)
                document.delete()
                removed += 1
            touch(collection=locked)
    return removed
