"""Django under ASGI, with each request in one thread of a pool from its beginning to its end, as under WSGI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

#: More requests wait their turn. Far more than work at a time: some wait for a job, or for whom they send to.
THREADS = 256

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class OneThreadHandler(ASGIHandler):
    """Django's handler without its ways between threads and tasks.

    All our middlewares and views are synchronous. Django's own handler starts a thread for every request, goes back to
    the event loop between the middlewares, and watches for a client that hangs up, which stops nothing that is
    synchronous: together that took longer than most requests. Streams alone are still sent Django's way.
    """

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="request")

    def load_middleware(self, is_async: bool = False) -> None:
        """One synchronous chain."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"This server has no answer to {scope['type']}.")
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            work = partial(copy_context().run, self._answer, scope, body)
            response = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            if response.streaming:
                await self._stream(response, receive, send)
            else:
                await self.send_response(response, send)

    def _answer(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """Everything from the request to the answer, which is closed unless it is a stream."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        if request is None:
            assert refusal is not None
            refusal.close()
            return refusal
        response = self.get_response(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as Django's own handlers do
        if response.streaming:
            # The stream is read elsewhere, so nothing would give this thread's connection back.
            close_old_connections()
        else:
            response.close()
        return response

    async def _stream(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """Send it until it ends or nobody listens any more."""
        async with ThreadSensitiveContext():
            works: list[Coroutine[Any, Any, None]] = [
                self.listen_for_disconnect(receive),
                self.send_response(response, send),
            ]
            tasks = [asyncio.create_task(work) for work in works]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                await sync_to_async(response.close)()
        for outcome in ended:
            if isinstance(outcome, Exception) and not isinstance(outcome, RequestAborted):
                raise outcome
