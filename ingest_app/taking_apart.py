"""An archive that was sent becomes the files in it: items of the same job, each with its own outcome."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import Max

from collections_app.services import lock_collection
from core_app.errors import InvalidInput, RagsiteError
from core_app.wiring import app_settings
from ingest_app.leases import Lease, hold
from ingest_app.models import Item, Payload
from ingest_app.ownership import taken_by_another, taken_names
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.sandbox import ParserProcess
from ingest_app.parsing.unpacking import Member
from ingest_app.submitting import Source, add_item, clean_text, find_problems

#: Archives within archives are opened so deep.
MAX_DEPTH = 2
#: The code of an archive's item once its files are items themselves.
UNPACKED = "unpacked"


def take_apart(*, lease: Lease, item: Item, content: bytes, parser: ParserProcess, check: Callable[[], None]) -> None:
    """Put an archive's files in its place, in one transaction; the archive itself is done with that.

    Each is named by the archive and its place in it, and gets the archive's metadata. Raises UnableToParse for an
    archive that cannot be read or holds nothing that could be.
    """
    if item.depth >= MAX_DEPTH:
        raise UnableToParse(
            f"An archive within {MAX_DEPTH} archives is not opened: unpack it and upload its files.", "unsupported_type"
        )
    largest = app_settings().ingestion.max_file_bytes
    members = list(parser.unpack(name=item.source, content=content, max_member_bytes=largest, check=check))
    if not members:
        raise UnableToParse("The archive is empty: it holds no file to index.", "empty_file")
    sources = [
        Source(
            name=clean_text(f"{item.source}/{member.name}"),
            content=member.content or b"",
            metadata=item.metadata,
            origin=item.origin,
        )
        for member in members
    ]
    taken = taken_names(
        collection_id=lease.collection_id, origin=item.origin, names=[source.name for source in sources]
    )
    problems = [
        _problem(member) or (taken_by_another() if source.name in taken else found)
        for member, source, found in zip(members, sources, find_problems(sources), strict=True)
    ]
    with transaction.atomic():
        lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        ordinal = Item.objects.filter(job=job).aggregate(last=Max("ordinal"))["last"] + 1
        for source, problem in zip(sources, problems, strict=True):
            add_item(job=job, ordinal=ordinal, source=source, problem=problem, depth=item.depth + 1)
            ordinal += 1
        item.state = Item.State.SUCCEEDED
        item.error, item.code = "", UNPACKED
        item.save(update_fields=["state", "error", "code"])
        Payload.objects.filter(item=item).delete()


def _problem(member: Member) -> RagsiteError | None:
    return None if member.content is not None else InvalidInput(member.detail, code=member.code)
