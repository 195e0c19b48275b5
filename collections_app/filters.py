"""Filters that a collection keeps by name, and what a search means that calls one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from access_app.acting import current
from access_app.audit import record
from collections_app.models import Collection, NamedFilter
from collections_app.selectors import collection_not_found, get_collection
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.names import is_collection_name
from core_app.where import And, Or, Where, Within, parse_where

MOST_FILTERS = 1_000
MAX_DESCRIPTION = 2_000
RULE = "A filter's name has 1 to 512 characters, is not '.' or '..', and has no slash, backslash or control character."
#: An address of the API ends like this, where a filter's name would stand.
RESERVED = "preview"
EMPTY = "where: a filter that is kept must not be empty. Send at least one condition."
_HINTED = 10


def list_filters(*, collection_name: str) -> list[NamedFilter]:
    """A collection's filters by name. Raises NotFound for the collection."""
    return list(NamedFilter.objects.filter(collection=get_collection(name=collection_name)).order_by("name"))


def read_filter(row: NamedFilter) -> tuple[Where | None, str]:
    """What a kept filter asks for; None and what to do where this version cannot read it."""
    try:
        return parse_where(row.where), ""
    except InvalidInput as error:
        return None, f"This version cannot read the filter, so searches with it are refused. Change it: {error.detail}"


def get_filter(*, collection_name: str, name: str) -> NamedFilter:
    """One of them. Raises NotFound."""
    return _found(get_collection(name=collection_name), name)


def save_filter(
    *, collection_name: str, name: str, where: Any, description: str | None = None
) -> tuple[NamedFilter, bool]:
    """Keep a filter, as decoded JSON, under a name; whether that is new. What had the name is replaced.

    Without a description the old one stays. Raises NotFound, and InvalidInput for the filter or the name.
    """
    _check_name(name)
    if parse_where(where, place="where") is None:
        raise InvalidInput(EMPTY, code="empty_filter")
    if description is not None and len(description) > MAX_DESCRIPTION:
        raise InvalidInput(f"description: at most {MAX_DESCRIPTION:,} characters.", code="invalid")
    given: dict[str, Any] = {"where": where} | ({} if description is None else {"description": description})
    with transaction.atomic():
        collection = get_collection(name=collection_name)
        kept = NamedFilter.objects.filter(collection=collection)
        if not kept.filter(name=name).exists() and kept.count() >= MOST_FILTERS:
            raise InvalidInput(
                f"A collection keeps at most {MOST_FILTERS:,} filters. Delete one first.", code="too_many_filters"
            )
        before = kept.filter(name=name).first()
        try:
            saved, is_new = NamedFilter.objects.update_or_create(collection=collection, name=name, defaults=given)
        except IntegrityError as error:
            # Deleted meanwhile.
            raise collection_not_found(collection_name) from error
        record("filter.saved", saved, before=None if before is None else _audited(before), after=_audited(saved))
        return saved, is_new


def rename_filter(*, collection_name: str, name: str, new_name: str) -> NamedFilter:
    """Give a filter another name; calls by the old one find nothing from then on. Raises NotFound, Conflict."""
    _check_name(new_name)
    with transaction.atomic():
        collection = get_collection(name=collection_name)
        NamedFilter.objects.select_for_update().filter(collection=collection, name=name).first()
        found = _found(collection, name)
        if new_name == name:
            return found
        found.name = new_name
        try:
            with transaction.atomic():
                found.save(update_fields=["name", "updated_at"])
        except IntegrityError as error:
            raise Conflict(
                f"Collection '{collection_name}' has a filter '{new_name}' already. Choose another name.",
                code="filter_exists",
            ) from error
        record("filter.renamed", found, before={"name": name}, after={"name": new_name})
    return found


def delete_filter(*, collection_name: str, name: str) -> None:
    """Forget a filter. Raises NotFound."""
    with transaction.atomic():
        found = _found(get_collection(name=collection_name), name)
        record("filter.deleted", found, before=_audited(found))
        NamedFilter.objects.filter(pk=found.pk).delete()


def _audited(row: NamedFilter) -> dict[str, Any]:
    return {"where": row.where, "description": row.description}


def narrowed(*, collections: Sequence[Collection], where: Where | None, filter_name: str | None) -> Where | None:
    """What must hold where a call gives a filter, or a name, or both: then both.

    Read at each call, so that a change acts from the next one on. In several collections each has its own filter of
    that name. Raises NotFound, code `filter_not_found`, which names the collections that lack it.
    """
    if filter_name is None:
        return where
    ids = [collection.pk for collection in collections]
    if not is_collection_name(filter_name):
        raise _not_found(collections, filter_name)
    kept = {row.collection_id: row for row in NamedFilter.objects.filter(collection__in=ids, name=filter_name)}
    lacking = [collection for collection in collections if collection.pk not in kept]
    if lacking:
        raise _not_found(lacking, filter_name)
    own = {collection_id: _parsed(row) for collection_id, row in kept.items()}
    # By what they look like: in Python 1 equals True, in a filter it does not.
    if len({repr(one) for one in own.values()}) == 1:
        named = next(iter(own.values()))
    else:
        named = Or(tuple(And((Within(pk), own[pk])) for pk in ids))
    return named if where is None else And((where, named))


def _parsed(row: NamedFilter) -> Where:
    found = parse_where(row.where, place=f"filter '{row.name}'")
    assert found is not None, "an empty filter is not kept"
    return found


def _check_name(name: str) -> None:
    if not is_collection_name(name):
        raise InvalidInput(RULE, code="invalid_name")
    if name == RESERVED:
        raise InvalidInput(f"A filter cannot be called '{RESERVED}'. Choose another name.", code="invalid_name")


def _found(collection: Collection, name: str) -> NamedFilter:
    # What cannot be a name has no row, and may hold what Postgres takes for no text.
    found = NamedFilter.objects.filter(collection=collection, name=name).first() if is_collection_name(name) else None
    if found is None:
        raise _not_found([collection], name)
    return found


def _not_found(collections: Sequence[Collection], name: str) -> NotFound:
    lacking = " and ".join(f"'{collection.name}'" for collection in collections[:3])
    where = "collection" if len(collections) == 1 else "collections"
    lacking += f" and {len(collections) - 3:,} more" if len(collections) > 3 else ""
    first = collections[0]
    shown = "".join(character if character.isprintable() else "?" for character in name[:100])
    said = f"Filter '{shown}' not found in {where} {lacking}."
    if not current().may_list(first.name):
        return NotFound(f"{said} Check the name, or have it kept there first.", code="filter_not_found")
    known = list(
        NamedFilter.objects.filter(collection=first).order_by("name").values_list("name", flat=True)[: _HINTED + 1]
    )
    listed = ", ".join(f"'{one}'" for one in known[:_HINTED]) + (", …" if len(known) > _HINTED else "")
    hint = f"Known there: {listed}." if known else "It has none."
    if len(collections) > 1:
        hint = f"In '{first.name}': {listed or 'none'}."
    return NotFound(f"{said} {hint}", code="filter_not_found")
