"""What the database refused, as an error that callers may hear about."""

from __future__ import annotations

from django.db import DatabaseError, InterfaceError
from psycopg.errors import LockNotAvailable, ProgramLimitExceeded, QueryCanceled

from core_app import errors


def of_database(error: DatabaseError | InterfaceError) -> errors.RagsiteError:
    """Nothing of its cause is in the sentence."""
    if isinstance(error.__cause__, LockNotAvailable):
        return errors.Unavailable(errors.COLLECTION_BUSY, code="collection_busy")
    if isinstance(error.__cause__, ProgramLimitExceeded):
        return errors.InvalidInput(errors.TOO_LARGE_TO_STORE, code="too_large_to_store")
    if isinstance(error.__cause__, QueryCanceled):
        return errors.InvalidInput(errors.TOO_EXPENSIVE, code="too_expensive")
    return errors.StoreFailed(errors.DATABASE_DOWN, code="database_unavailable")
