"""The names of collections: changed, kept as aliases, never given twice."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction

from collections_app.models import Alias, Collection
from core_app.errors import Conflict, InvalidInput
from core_app.names import NEW_RULE, is_new_name
from core_app.sql import statement

MAX_ALIASES = 20


def claim_name(name: str) -> None:
    """Make sure that nothing has this name and that nobody else can take it in this transaction.

    Raises Conflict, and InvalidInput for what cannot be a name.
    """
    if not is_new_name(name):
        raise InvalidInput(NEW_RULE, code="invalid_name")
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "claim_name"), {"name": name})
    if Collection.objects.filter(name=name).exists():
        raise Conflict(
            f"Collection '{name}' already exists. Choose another name or delete it first.", code="collection_exists"
        )
    if Alias.objects.filter(name=name).exists():
        # Of which one is left unsaid: the caller's key may not reach it.
        raise Conflict(
            f"'{name}' is another collection's alias. Choose another name or take the alias away.",
            code="collection_exists",
        )


def rename(*, collection: Collection, name: str, keep_alias: bool) -> None:
    """Give a collection another name, one of its aliases perhaps. Needs the write lock."""
    if name == collection.name:
        return
    with transaction.atomic():
        Alias.objects.filter(collection=collection, name=name).delete()
        claim_name(name)
        old = collection.name
        collection.name = name
        collection.save(update_fields=["name", "updated_at"])
        if keep_alias:
            if Alias.objects.filter(collection=collection).count() >= MAX_ALIASES:
                raise InvalidInput(
                    f"A collection has at most {MAX_ALIASES} aliases. Take one away, or rename it without keep_alias.",
                    code="too_many_aliases",
                )
            Alias.objects.create(collection=collection, name=old)


def set_aliases(*, collection: Collection, aliases: Sequence[str]) -> None:
    """Have a collection found under exactly these names beside its own. Needs the write lock."""
    if len(aliases) > MAX_ALIASES:
        raise InvalidInput(f"aliases: a collection has at most {MAX_ALIASES}.", code="too_many_aliases")
    with transaction.atomic():
        present = set(Alias.objects.filter(collection=collection).values_list("name", flat=True))
        Alias.objects.filter(collection=collection).exclude(name__in=aliases).delete()
        for name in dict.fromkeys(aliases):
            if name not in present:
                claim_name(name)
                Alias.objects.create(collection=collection, name=name)
