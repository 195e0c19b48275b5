"""Sending placements what has changed here. What is sent is what is here now, so doing it twice does no harm.

Whoever sends holds the placement's row: one at a time, and when he dies the next one goes on where he was. A chunk that
changes while it is sent waits once more.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from collections_app.models import Collection
from collections_app.services import space_of
from connections_app.opening import opened_store
from core_app.errors import InvalidInput, NotFound, RagsiteError
from core_app.providers import HeldChunk, Provider
from core_app.sql import statement
from core_app.wiring import store
from stores_app.models import Leftover, Outgoing, Placement
from stores_app.transfer import ROOM

logger = logging.getLogger(__name__)

BATCH = 500
#: A round of the scheduler ends after so long, so that others have their turn.
_ROUND_SECONDS = 5.0
_LONGEST_PAUSE = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class _Marks:
    """Rows of what waits, and what they are about; no ids where all chunks go."""

    keys: Sequence[int]
    external_ids: Sequence[str]
    is_emptying: bool


def deliver_due() -> None:
    """Send what waits for placements that are searched, and delete what is left over elsewhere; for some seconds."""
    ends_at = time.monotonic() + _ROUND_SECONDS
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "placements_due"))
        due = [key for (key,) in cursor.fetchall()]
    for key in due:
        try:
            while time.monotonic() < ends_at and deliver(placement_id=key):
                pass
        except RagsiteError:
            continue
    _clear_leftovers()


def deliver(*, placement_id: int) -> int:
    """Send the next changes; how many. 0 where none waits, the placement is gone, or somebody else sends.

    Raises what the provider raises, once it is noted at the placement.
    """
    try:
        with transaction.atomic():
            return _deliver(placement_id)
    except RagsiteError as error:
        logger.warning("changes could not be sent to a placement: %s", error.code, exc_info=True)
        _note_failure(placement_id, error.detail)
        raise
    except Exception:
        logger.exception("changes could not be sent to a placement")
        _note_failure(placement_id, "An error on this server; its log has the cause.")
        raise


def chunks_of(*, collection: Collection, external_ids: Sequence[str]) -> dict[str, HeldChunk]:
    """The chunks as a placement is to have them, by their ids; without those that no search finds."""
    generation = collection.active_generation
    if generation is None or not external_ids:
        return {}
    asked: dict[str, Any] = {
        "collection_id": collection.pk,
        "generation_id": generation.pk,
        "external_ids": list(external_ids),
    }
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "placed_chunks"), asked)
        rows = cursor.fetchall()
    vectors = store(collection.store).vectors(space=space_of(generation), chunk_ids=[row[0] for row in rows])
    return {
        external_id: HeldChunk(id=external_id, text=text, metadata=json.loads(metadata), embedding=vectors[chunk_id])
        for chunk_id, external_id, text, metadata in rows
    }


def _deliver(placement_id: int) -> int:
    placement = (
        Placement.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        .select_related("connection", "collection__active_generation")
        .filter(pk=placement_id)
        .first()
    )
    if placement is None:
        return 0
    marks = _next(placement)
    if marks is None:
        return 0
    refused: dict[str, str] = {}
    with opened_store(placement.connection) as provider:
        if marks.is_emptying:
            provider.empty(name=placement.name_there)
        else:
            refused = _send(placement, provider, marks.external_ids)
    # By key: a chunk that has changed since has another one.
    sent = Outgoing.objects.filter(pk__in=marks.keys)
    for external_id, why in refused.items():
        sent.filter(external_id=external_id).update(refused=why)
    sent.filter(refused="").delete()
    Placement.objects.filter(pk=placement.pk).update(
        problem="", failures=0, next_try_at=None, delivered_at=timezone.now()
    )
    return len(marks.keys)


def _next(placement: Placement) -> _Marks | None:
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "outgoing_batch"), {"placement_id": placement.pk, "limit": BATCH})
        rows = cursor.fetchall()
    if not rows:
        return None
    emptying = [key for key, external_id in rows if external_id is None]
    if emptying:
        return _Marks(keys=emptying, external_ids=(), is_emptying=True)
    ids = dict.fromkeys(external_id for _, external_id in rows)
    return _Marks(keys=[key for key, _ in rows], external_ids=list(ids), is_emptying=False)


def _send(placement: Placement, provider: Provider, external_ids: Sequence[str]) -> dict[str, str]:
    """Why those that the other system does not take were refused, by id."""
    here = chunks_of(collection=placement.collection, external_ids=external_ids)
    gone = [external_id for external_id in external_ids if external_id not in here]
    if gone:
        provider.delete_chunks(name=placement.name_there, ids=gone, where=None)
    refused = _add(provider, placement.name_there, list(here.values()))
    if refused:
        logger.warning("a placement does not take some chunks", extra={"chunks": len(refused)})
        # Of one that was taken before: what is there now is not what is here.
        provider.delete_chunks(name=placement.name_there, ids=list(refused), where=None)
    return refused


def _add(provider: Provider, name: str, chunks: Sequence[HeldChunk]) -> dict[str, str]:
    if not chunks:
        return {}
    try:
        provider.add(name=name, chunks=chunks)
    except InvalidInput as error:
        if len(chunks) == 1:
            return {chunks[0].id: error.detail}
        half = len(chunks) // 2
        return _add(provider, name, chunks[:half]) | _add(provider, name, chunks[half:])
    return {}


def _note_failure(placement_id: int, problem: str) -> None:
    placement = Placement.objects.filter(pk=placement_id).first()
    if placement is not None:
        failures = placement.failures + 1
        Placement.objects.filter(pk=placement_id).update(
            problem=problem, failures=failures, next_try_at=timezone.now() + _pause(failures)
        )


def _pause(failures: int) -> timedelta:
    return min(timedelta(seconds=2.0 ** min(failures, 10)), _LONGEST_PAUSE)


def _clear_leftovers() -> None:
    """Delete the next collection that nobody needs any more where it is."""
    with transaction.atomic():
        due = Leftover.objects.exclude(next_try_at__gt=timezone.now()).order_by("next_try_at", "id")
        leftover = due.select_for_update(skip_locked=True).first()
        if leftover is None:
            return
        try:
            with opened_store(leftover.connection) as provider:
                provider.delete_collection(name=leftover.name_there)
        except NotFound:
            pass
        except Exception:
            logger.exception("a collection that nobody needs any more could not be deleted elsewhere")
            failures = leftover.failures + 1
            Leftover.objects.filter(pk=leftover.pk).update(
                failures=failures, next_try_at=timezone.now() + _pause(failures)
            )
            return
        leftover.delete()
