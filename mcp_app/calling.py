"""Who calls a tool, and how a tool is run: its own database work in one thread, its errors as sentences."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from mcp.server.mcpserver.exceptions import ToolError

from access_app.models import Verb
from access_app.services import Caller
from core_app.errors import DATABASE_DOWN, NotAllowed, RagsiteError

logger = logging.getLogger(__name__)

Asked = ParamSpec("Asked")
Result = TypeVar("Result")

#: Set for each request, and once for a process that speaks on standard input.
caller: ContextVar[Caller] = ContextVar("caller")


def reached(verb: Verb, name: str) -> str:
    """The collection's name, if the caller may do this there. Raises NotAllowed, whether there is one or not."""
    who = caller.get()
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
    if not connection.in_atomic_block:
        # A process that speaks on standard input has no requests that would do so.
        close_old_connections()
    try:
        return function(*args, **kwargs)
    except RagsiteError as error:
        raise ToolError(f"{error.detail} ({error.code})") from None
    except (DatabaseError, InterfaceError):
        logger.exception("a tool had no database")
        raise ToolError(f"{DATABASE_DOWN} (database_unavailable)") from None
    except Exception:
        logger.exception("a tool failed")
        raise ToolError(
            "Something went wrong on the server. Try again; its log has the cause. (server_error)"
        ) from None
