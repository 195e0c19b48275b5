"""An archive that was sent becomes the files in it: items of the same job, each with its own outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from collections_app.models import Collection, Document
from collections_app.services import lock_collection, touch
from core_app.errors import InvalidInput, RagsiteError
from core_app.wiring import app_settings
from ingest_app.leases import Lease, hold
from ingest_app.models import UNPACKED, Item, Job
from ingest_app.ownership import taken_by_another, taken_names
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.sandbox import ParserProcess
from ingest_app.parsing.unpacking import Member
from ingest_app.removing import drop_payloads, remove_document
from ingest_app.submitting import Source, add_item, clean_text, find_problems

#: Archives within archives are opened so deep.
MAX_DEPTH = 2


def take_apart(*, lease: Lease, item: Item, content: bytes, parser: ParserProcess, check: Callable[[], None]) -> None:
    """Put an archive's files in its place, in one transaction; the archive itself is done with that.

    Each is named by the archive and its place in it, and gets the archive's metadata. Raises UnableToParse for an
    archive that cannot be read or holds nothing that could be.
    """
    if not content:
        raise UnableToParse("The archive is empty: it holds no file to index.", "empty_file")
    if item.depth >= MAX_DEPTH:
        raise UnableToParse(
            f"An archive within {MAX_DEPTH} archives is not opened: unpack it and upload its files.", "unsupported_type"
        )
    largest = app_settings().ingestion.max_file_bytes
    members = list(parser.unpack(name=item.source, content=content, max_member_bytes=largest, check=check))
    if not members:
        raise UnableToParse("The archive is empty: it holds no file to index.", "empty_file")
    sources = [_source(item, member) for member in members]
    problems = _problems(lease, item, members, sources)
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        _replace_its_document(collection, item, job)
        ordinal = Item.objects.filter(job=job).aggregate(last=Max("ordinal"))["last"] + 1
        for source, problem in zip(sources, problems, strict=True):
            add_item(job=job, ordinal=ordinal, source=source, problem=problem, depth=item.depth + 1)
            ordinal += 1
        item.state = Item.State.SUCCEEDED
        item.finished_at = timezone.now()
        item.error, item.code = "", UNPACKED
        item.save(update_fields=["state", "finished_at", "error", "code"])
        drop_payloads(item=item, job=job)


def _source(item: Item, member: Member) -> Source:
    return Source(
        name=clean_text(f"{item.source}/{member.name}"),
        content=member.content or b"",
        metadata=item.metadata,
        origin=item.origin,
    )


def _problems(
    lease: Lease, item: Item, members: Sequence[Member], sources: Sequence[Source]
) -> list[RagsiteError | None]:
    """Why each of the files cannot be indexed; None where it can."""
    names = [source.name for source in sources]
    taken = taken_names(collection_id=lease.collection_id, origin=item.origin, names=names)
    return [
        _problem(member) or (taken_by_another() if source.name in taken else found)
        for member, source, found in zip(members, sources, find_problems(sources), strict=True)
    ]


def _replace_its_document(collection: Collection, item: Item, job: Job) -> None:
    """A file of the archive's name may have been indexed, or failed, before it was an archive that can be opened."""
    taken = taken_names(collection_id=collection.pk, origin=item.origin, names=[item.source])
    before = Document.objects.filter(collection=collection, source=item.source).exclude(submitted_at__gt=job.created_at)
    for document in () if taken else before:
        remove_document(collection=collection, document=document)
        touch(collection=collection)


def _problem(member: Member) -> RagsiteError | None:
    return None if member.content is not None else InvalidInput(member.detail, code=member.code)
