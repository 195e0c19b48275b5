"""How the database and the stores in it do."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connection
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from collections_app.models import Collection
from core_app.errors import RagsiteError
from core_app.health import Check, State
from core_app.sql import statement
from core_app.wiring import store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """How much the server holds."""

    collections: int
    #: Of the whole database.
    storage_bytes: int


def holdings() -> Holdings:
    """Asks the database. Raises what Django raises when it does not work."""
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "holdings"))
        collections, storage_bytes = cursor.fetchone() or (0, 0)
    return Holdings(collections=collections, storage_bytes=storage_bytes)


def check_database() -> Check:
    """Whether the database answers, and how much it holds."""
    part, docs = "database", "operations.md#health"
    try:
        held = holdings()
    except (DatabaseError, InterfaceError):
        logger.exception("the database could not be checked")
        return Check(
            part=part,
            state=State.BAD,
            says=_("The database cannot be reached."),
            cure=_("See the log of the database, and ConnectionStrings:RagDatabase."),
            docs=docs,
        )
    says = _("It answers and holds %(size)s MB.") % {
        "size": number_format(round(held.storage_bytes / 1024**2), force_grouping=True)
    }
    return Check(part=part, state=State.GOOD, says=says, docs=docs)


def check_stores() -> Check:
    """Whether each store that a collection names is configured."""
    part, docs = "store", "storage.md"
    try:
        names = sorted(set(Collection.objects.order_by().values_list("store", flat=True).distinct()))
    except (DatabaseError, InterfaceError):
        return Check(part=part, state=State.UNKNOWN, says=_("The database cannot be reached."), docs=docs)
    for name in names:
        try:
            store(name)
        except RagsiteError:
            return Check(
                part=part,
                state=State.BAD,
                says=f"Collections are kept in the store '{name}', which is not configured.",
                cure=_("Configure it again, or delete these collections."),
                docs=docs,
            )
    says = _("In use: %(names)s.") % {"names": ", ".join(names)} if names else _("None is in use yet.")
    return Check(part=part, state=State.GOOD, says=says, docs=docs)
