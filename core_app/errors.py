"""Every failure a caller may hear about: one sentence that says what to do, one machine code.

Doors turn these into their own form (HTTP status, exit code, message box); services only raise them.
"""

from __future__ import annotations

OURS = "Something went wrong on the server. Try again; its log has the cause."
DATABASE_DOWN = "The database cannot be reached or refused the request. Try again; the server's log has the cause."
COLLECTION_BUSY = "Another write to this collection is still running. Try again in a few seconds."
TOO_LARGE_TO_STORE = "A text or the metadata of one document is larger than the database can hold. Split it."
TOO_EXPENSIVE = "The request took too long and was stopped. Ask for less."


class RagsiteError(Exception):
    """Base of all errors that are shown as they are. `detail` must be safe: no paths, DSNs or traces."""

    code = "error"

    def __init__(self, detail: str, *, code: str | None = None, errors: dict[str, list[str]] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors
        if code is not None:
            self.code = code


class InvalidInput(RagsiteError):
    """What was sent cannot be accepted as it is."""

    code = "invalid"
    #: Where in a filter the mistake is, as `detail` begins with it: `$.lang.$in[1]`; empty where it has no place.
    place = ""


class NotAuthenticated(RagsiteError):
    """A key is needed and none, or no valid one, was given."""

    code = "not_authenticated"


class NotAllowed(RagsiteError):
    """The key is valid and does not reach this far."""

    code = "not_allowed"


class NotFound(RagsiteError):
    """What was named does not exist."""

    code = "not_found"


class Conflict(RagsiteError):
    """What was asked for contradicts what is already there."""

    code = "conflict"


class TooLarge(RagsiteError):
    """More than one request may carry."""

    code = "too_large"


class UnsupportedType(RagsiteError):
    """No known way to read what was sent."""

    code = "unsupported_type"


class Unavailable(RagsiteError):
    """Something this call needs is busy or down; the same call may succeed later."""

    code = "unavailable"

    def __init__(self, detail: str, *, code: str | None = None, retry_after_seconds: int = 5) -> None:
        super().__init__(detail, code=code)
        self.retry_after_seconds = retry_after_seconds


class TooManyRequests(Unavailable):
    """A service that is asked for this wants to be left alone for a while."""

    code = "too_many_requests"


class ModelFailed(RagsiteError):
    """A model that was asked raised an error; the same call may fail again."""

    code = "model_failed"


class StoreFailed(RagsiteError):
    """What searches a collection elsewhere did not do it; the same search may succeed later."""

    code = "store_failed"


class FarSideFailed(RagsiteError):
    """A service that a connection names answered with an error, or with what cannot be read."""

    code = "far_side_failed"


class FarSideSlow(RagsiteError):
    """A service that a connection names did not answer in time."""

    code = "far_side_slow"
