"""Asking another server for JSON: bounded in time and size, tried again only where that does no harm.

Requests run in an event loop of a thread of their own: only there can a request be given up whatever it is at, be the
other side so slow that each byte of its headers comes in time.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import httpx

from core_app.errors import InvalidInput
from core_app.rate_limits import Pause, exhausted_seconds, wait_seconds
from core_app.retrying import MOST_TRIES, PassingFailure, with_retry

#: The rest is not mended by asking again.
_WORTH_ANOTHER_TRY = {429, 502, 503, 504}
#: Longer than that nobody waits for another try, whatever `Retry-After` says.
_LONGEST_WAIT_SECONDS = 2.0
_LONGEST_REASON = 300
#: After the client's own limits, which know better what took so long.
_GRACE_SECONDS = 0.2

Result = TypeVar("Result")


class FarSideError(Exception):
    """The server did not do what was asked; the text is for the log and holds no address and no key."""

    #: Whether no connection came about.
    is_unreachable = False

    def __init__(self, reason: str, *, status: int = 0, said: str = "", code: str = "", is_slow: bool = False) -> None:
        super().__init__(reason)
        #: As it answered; 0 where it did not.
        self.status = status
        #: Its own sentence and word for what is wrong, as Ragsite's errors have them; empty where it has none.
        self.said = said
        self.code = code
        self.is_slow = is_slow


class _Passing(FarSideError, PassingFailure):
    """What may go well the next time."""

    def __init__(
        self, reason: str, *, status: int = 0, said: str = "", code: str = "", retry_after: float = 0.0
    ) -> None:
        super().__init__(reason, status=status, said=said, code=code)
        self.retry_after = retry_after


class _Unreachable(_Passing):
    is_unreachable = True


class FarSide:
    """One server. May be used by several threads."""

    def __init__(
        self,
        *,
        base_url: str,
        headers: Mapping[str, str],
        timeout_seconds: float,
        largest_answer: int,
        what: str,
        keeps_limits: bool = False,
    ) -> None:
        """`timeout_seconds` bounds each request; `headers` are sent with each, to this address only.

        `what` is its name in sentences, such as "reranking service". With `keeps_limits` a service that says that its
        limits are used up is not asked before they are full again. Raises InvalidInput where an address or a header
        is none.
        """
        self._timeout_seconds = timeout_seconds
        self._pause = Pause() if keeps_limits else None
        self._largest_answer = largest_answer
        self._client = httpx.AsyncClient(
            base_url=_base(base_url, what), headers=_headers(headers, what), follow_redirects=False
        )

    def close(self) -> None:
        with suppress(httpx.HTTPError, RuntimeError):  # of a loop that is gone
            _run(self._client.aclose())

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
        longest_wait: float = _LONGEST_WAIT_SECONDS,
        is_repeatable: bool,
    ) -> Mapping[str, Any]:
        """The JSON object that it answers. Raises FarSideError.

        Tried up to three times where `is_repeatable`: where asking twice changes nothing more than asking once. Where
        the service wants to be left alone for more than `longest_wait` seconds, it is not asked again.
        """
        answer = self.ask_any(
            method,
            path,
            body=body,
            params=params,
            seconds=seconds,
            longest_wait=longest_wait,
            is_repeatable=is_repeatable,
        )
        if not isinstance(answer, dict):
            raise FarSideError("the answer is no JSON object")
        return answer

    def ask_any(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
        longest_wait: float = _LONGEST_WAIT_SECONDS,
        is_repeatable: bool,
    ) -> Any:
        """The same of a server that does not always answer an object."""
        bound = self._timeout_seconds if seconds is None else min(seconds, self._timeout_seconds)

        def once() -> Any:
            self._keep_pause(longest_wait)
            return _run(self._ask(method, path, body, params, bound, longest_wait))

        return with_retry(lambda _: once(), seconds=MOST_TRIES * bound) if is_repeatable else once()

    def _keep_pause(self, longest_wait: float) -> None:
        """Wait for the end of the service's pause. Raises FarSideError where that would take too long."""
        left = self._pause.seconds_left if self._pause else 0.0
        if left > longest_wait:
            raise FarSideError(f"its limits are used up for {left:.0f} seconds more", status=429)
        if left > 0:
            time.sleep(left)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        params: Mapping[str, str] | None,
        seconds: float,
        longest_wait: float,
    ) -> Any:
        deadline = time.monotonic() + seconds
        # What is compressed could be of any size when it is not.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            async with (
                asyncio.timeout(seconds + _GRACE_SECONDS),
                self._client.stream(
                    method, path, json=body, params=params, headers=headers, timeout=seconds
                ) as response,
            ):
                content = await self._bounded(response, deadline)
        except TimeoutError:
            raise FarSideError("the answer took too long", is_slow=True) from None
        except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
            # It may be at work still: asked again it would have twice as much to do.
            raise FarSideError(_transport_reason(error), is_slow=True) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Unreachable(_transport_reason(error)) from None
        except httpx.TransportError as error:
            raise _Passing(_transport_reason(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
            raise FarSideError(f"the request could not be made ({type(error).__name__})") from None
        if self._pause:
            self._pause.learn(exhausted_seconds(response.headers))
        if not response.is_success:
            raise _refusal(response, content, longest_wait)
        return _json(content)

    async def _bounded(self, response: httpx.Response, deadline: float) -> bytes:
        """The body. Raises FarSideError where it is too large, too slow, or compressed."""
        status = response.status_code
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise FarSideError("the answer is compressed, which was not asked for", status=status)
        arrived = bytearray()
        async for piece in response.aiter_raw():
            arrived += piece
            if len(arrived) > self._largest_answer:
                raise FarSideError(f"the answer is larger than {self._largest_answer} bytes", status=status)
            if time.monotonic() > deadline:
                raise FarSideError("the answer took too long", status=status, is_slow=True)
        return bytes(arrived)


class _Loop:
    """The event loop of this process; another process that was forked off has its own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: tuple[int, asyncio.AbstractEventLoop] | None = None

    def running(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._running is None or self._running[0] != os.getpid():
                loop = asyncio.new_event_loop()
                threading.Thread(target=loop.run_forever, name="far-sides", daemon=True).start()
                self._running = (os.getpid(), loop)
            return self._running[1]


_loop = _Loop()


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run_coroutine_threadsafe(work, _loop.running()).result()


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise FarSideError("the answer is not JSON") from None


def _refusal(response: httpx.Response, content: bytes, longest_wait: float) -> FarSideError:
    """What the server says of itself is quoted in one short line."""
    said: Mapping[str, Any] = {}
    with suppress(FarSideError):
        found = _json(content)
        said = found if isinstance(found, dict) else {}
    detail = _line(str(said.get("detail") or said.get("message") or ""))
    code = _line(str(said.get("code") or ""))
    wanted = wait_seconds(response.headers)
    status = response.status_code
    reason = f"it answered {status}" + (f": {detail}" if detail else "")
    if status in _WORTH_ANOTHER_TRY and wanted <= longest_wait:
        return _Passing(reason, status=status, said=detail, code=code, retry_after=wanted)
    return FarSideError(reason, status=status, said=detail, code=code)


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text[:_LONGEST_REASON])


def _transport_reason(error: httpx.TransportError) -> str:
    """A failed connection says why; the words of other failures may quote what was sent."""
    said = f": {error}"[:_LONGEST_REASON] if isinstance(error, httpx.ConnectError) else ""
    return f"{type(error).__name__}{said}"


def _base(url: str, what: str) -> httpx.URL:
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL:
        base = httpx.URL("")
    if base.scheme not in {"http", "https"} or not base.host:
        raise InvalidInput(f"The address of a {what} starts with http:// or https:// and names a host.")
    return base


def _headers(headers: Mapping[str, str], what: str) -> dict[str, str]:
    for name, value in headers.items():
        if not (name.isascii() and value.isascii() and name.isprintable() and value.isprintable()):
            raise InvalidInput(f"A header of a {what} holds a character that headers cannot have.")
    return dict(headers)
