"""What went wrong, as a sentence for the page that asked."""

from __future__ import annotations

import logging

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext_lazy as _
from psycopg.errors import LockNotAvailable, QueryCanceled

from core_app.errors import COLLECTION_BUSY, DATABASE_DOWN, TOO_EXPENSIVE, RagsiteError

logger = logging.getLogger(__name__)

#: What a service may raise through no fault of the console; anything else is a bug and a 500.
EXPECTED = (RagsiteError, ObjectDoesNotExist, DatabaseError, InterfaceError)

GONE = _("This is no longer there: somebody else may have deleted it. Reload the page.")
#: The services' own sentence names calls of the API.
HELD_ELSEWHERE = _(
    "The documents of this collection are held by another system and not here. Change them there, or import the "
    "collection."
)


def sentence(error: Exception) -> str:
    """One sentence that says what to do; the cause of a database error goes to the log alone."""
    if isinstance(error, RagsiteError):
        return str(HELD_ELSEWHERE) if error.code == "held_elsewhere" else error.detail
    if isinstance(error, ObjectDoesNotExist):
        return str(GONE)
    if isinstance(error.__cause__, LockNotAvailable):
        return COLLECTION_BUSY
    if isinstance(error.__cause__, QueryCanceled):
        return TOO_EXPENSIVE
    logger.error("the database failed under the console", exc_info=error)
    return DATABASE_DOWN
