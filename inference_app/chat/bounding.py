"""What of an answer is read: so many bytes, as they come. Imported with the libraries, for it is heavy."""

from __future__ import annotations

import json

import httpx2

from core_app.rate_limits import wait_seconds
from inference_app.chat.failures import Senseless

#: Bytes. A thousand tokens are some thousand characters, and a model that thinks aloud may send many times as much.
LARGEST_ANSWER = 1_000_000
#: What a piece counts at least: taking one in costs as much as a few dozen bytes do.
_SMALLEST_PIECE = 64
_FIRST_REFUSAL = 300


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Gives answers that have been read, or Senseless: before anything of them is parsed or unpacked.

    Of a refusal the status counts, and what cannot be read of it is replaced by why.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        try:
            content = await _content(response)
        except Senseless as error:
            if response.status_code < _FIRST_REFUSAL:
                raise
            content = json.dumps({"error": {"message": str(error)}}).encode()
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code,
            headers=_headers(response),
            stream=httpx2.ByteStream(content),
            extensions=response.extensions,
        )


async def _content(response: httpx2.Response) -> bytes:
    if response.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise Senseless("the answer is compressed, which was not asked for")
    stated = response.headers.get("content-length", "")
    # What is that many digits long is refused without being computed.
    if stated.isdigit() and (len(stated) > len(str(LARGEST_ANSWER)) or int(stated) > LARGEST_ANSWER):
        raise _too_large()
    content = bytearray()
    cost = 0
    async for piece in response.aiter_raw():
        cost += max(len(piece), _SMALLEST_PIECE)
        if cost > LARGEST_ANSWER:
            raise _too_large()
        content += piece
    return bytes(content)


def _too_large() -> Senseless:
    return Senseless(f"the answer is larger than {LARGEST_ANSWER} bytes, or in very many pieces")


def _headers(response: httpx2.Response) -> dict[str, str]:
    """No other is of use, and a character set of the service's choice may be one that unpacks, or takes for ever."""
    wait = wait_seconds(response.headers)
    return {"content-type": "application/json", **({"retry-after": f"{wait:.3f}"} if wait else {})}
