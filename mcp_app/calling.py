"""Who calls a tool, and how a tool is run: its own database work in one thread, its errors as sentences."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError

from access_app.models import Verb
from access_app.services import Caller
from core_app.database_errors import of_database
from core_app.errors import OURS, NotAllowed, RagsiteError

logger = logging.getLogger(__name__)

Asked = ParamSpec("Asked")
Result = TypeVar("Result")

#: Says who calls, at each call: set for each request, and once for a process that speaks on standard input.
identify: ContextVar[Callable[[], Caller]] = ContextVar("identify")
#: The caller of the call that is under way.
_caller: ContextVar[Caller] = ContextVar("caller")


class Refused(Exception):
    """A tool's error, which the caller is told: a sentence and its code."""

    def __init__(self, detail: str, code: str) -> None:
        super().__init__(detail)
        self.detail, self.code = detail, code


def caller() -> Caller:
    """Who called the tool that is running."""
    return _caller.get()


def reached(verb: Verb, name: str) -> str:
    """The collection's name, if the caller may do this there. Raises NotAllowed, whether there is one or not."""
    who = caller()
    who.require(verb)
    if not who.reaches(name):
        raise NotAllowed("This API key does not reach this collection. Ask for one that does.")
    return name


def as_tool(function: Callable[Asked, Result]) -> Callable[Asked, Awaitable[Result]]:
    """A service's call as a tool. What a user can mend is told; of what they cannot the log has the trace."""

    @wraps(function)
    async def tool(*args: Asked.args, **kwargs: Asked.kwargs) -> Result:
        return await sync_to_async(_called, thread_sensitive=True)(function, args, kwargs)

    return tool


def _called(function: Callable[..., Result], args: Any, kwargs: Any) -> Result:
    try:
        _caller.set(identify.get()())
        return function(*args, **kwargs)
    except RagsiteError as error:
        raise Refused(error.detail, error.code) from None
    except (DatabaseError, InterfaceError) as error:
        logger.exception("a tool had no answer of the database")
        told = of_database(error)
        raise Refused(told.detail, told.code) from None
    except Exception:
        logger.exception("a tool failed")
        raise Refused(OURS, "server_error") from None
