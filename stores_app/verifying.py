"""Whether a placement has what is here: every chunk is read there and held to the one here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from django.db import connection

from connections_app.opening import opened_store
from core_app.json_values import is_same_json
from core_app.providers import HeldChunk, ScannedChunks
from core_app.sql import statement
from stores_app.delivering import BATCH, chunks_of
from stores_app.models import Outgoing, Placement
from stores_app.transfer import ROOM

#: Single precision has seven digits; some systems store a direction and a length.
_RELATIVE = 1e-5


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What was found there."""

    chunks: int
    #: Of ids, texts and metadata, whatever their order: SHA-256 of each, added up.
    checksum: str
    #: Chunks that differ, are missing there or do not belong there. They wait to be sent now.
    different: int


def verify(*, placement_id: int, told: Callable[[int], None]) -> Verified:
    """Compare all chunks; what differs and does not wait already is noted to be sent. `told` how many were read.

    Raises what the provider and `told` raise, and Placement.DoesNotExist.
    """
    placement = Placement.objects.select_related("connection", "collection__active_generation").get(pk=placement_id)
    seen: set[bytes] = set()
    different: list[str] = []
    total = 0
    for part in _parts(placement):
        here = chunks_of(collection=placement.collection, external_ids=[chunk.id for chunk in part.chunks])
        for chunk in part.chunks:
            seen.add(_key(chunk.id))
            total = (total + int.from_bytes(_digest(chunk))) % (1 << 256)
            if not _is_same(here.get(chunk.id), chunk):
                different.append(chunk.id)
        told(len(seen))
    different += _missing(placement, seen)
    count = _note(placement, different)
    return Verified(chunks=len(seen), checksum=f"{total:064x}", different=count)


def _parts(placement: Placement) -> Iterator[ScannedChunks]:
    after = None
    while True:
        with opened_store(placement.connection) as provider:
            part = provider.scan(name=placement.name_there, after=after, limit=BATCH)
        yield part
        after = part.after
        if after is None:
            return


def _key(external_id: str) -> bytes:
    return sha256(external_id.encode()).digest()[:16]


def _digest(chunk: HeldChunk) -> bytes:
    content = [chunk.id, chunk.text, chunk.metadata]
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


def _is_same(here: HeldChunk | None, there: HeldChunk) -> bool:
    if here is None or here.text != there.text or not is_same_json(here.metadata, there.metadata):
        return False
    assert here.embedding is not None, "only what has a vector is to be there"
    if there.embedding is None or here.embedding.shape != there.embedding.shape:
        return False
    largest = float(np.abs(here.embedding).max(initial=0.0))
    return bool(np.allclose(here.embedding, there.embedding, rtol=_RELATIVE, atol=_RELATIVE * largest))


def _missing(placement: Placement, seen: set[bytes]) -> list[str]:
    """What is here and was not seen there."""
    generation = placement.collection.active_generation
    if generation is None:
        return []
    missing: list[str] = []
    after = 0
    while True:
        with connection.cursor() as cursor:
            asked = {"generation_id": generation.pk, "after": after, "limit": 10 * BATCH}
            cursor.execute(statement(ROOM, "searched_ids"), asked)
            rows = cursor.fetchall()
        if not rows:
            return missing
        after = rows[-1][0]
        missing += [external_id for _, external_id in rows if _key(external_id) not in seen]


def _note(placement: Placement, external_ids: list[str]) -> int:
    """Have them sent, but for those that wait; what is sent is what is here then, so one too many does no harm."""
    waiting = set(
        Outgoing.objects.filter(placement=placement, external_id__in=external_ids).values_list("external_id", flat=True)
    )
    new = [external_id for external_id in external_ids if external_id not in waiting]
    Outgoing.objects.bulk_create(
        (Outgoing(placement=placement, external_id=external_id) for external_id in new), batch_size=BATCH
    )
    return len(new)
