"""How the libraries' clients speak HTTP: to the configured address and nowhere else, with what a call needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inference_app.chat.failures import Senseless

if TYPE_CHECKING:
    import httpx2

#: Whatever else the libraries would send tells of this machine, or comes from its environment.
_SENT = frozenset(
    {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
        "transfer-encoding", "authorization", "x-api-key", "anthropic-version",
    }
)  # fmt: skip
_CREDENTIALS = frozenset({"authorization", "x-api-key"})
_LONGEST_QUOTE = 200
_MOST_TOKENS = 10**9


def http_client(*, has_key: bool) -> httpx2.AsyncClient:
    """No proxy of the environment, no redirect, no header but those needed, no answer without a bound.

    Not what the libraries have for this purpose: Anthropic's takes proxies from the environment in any case.
    """
    import httpx2  # noqa: PLC0415 - heavy

    from inference_app.chat.bounding import BoundedTransport  # noqa: PLC0415 - heavy

    sent = _SENT if has_key else _SENT - _CREDENTIALS

    async def strip(request: httpx2.Request) -> None:
        for name in {name.lower() for name in request.headers} - sent:
            del request.headers[name]
        # What is compressed could be of any size when it is not.
        request.headers["accept-encoding"] = "identity"

    return httpx2.AsyncClient(
        transport=BoundedTransport(trust_env=False),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [strip]},
    )


def json_object(content: bytes) -> dict[str, Any]:
    """What a service answered. The libraries would make an object of each of its parts, which takes them a minute for
    what is read here in the blink of an eye."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Senseless(f"no JSON object: {content[:_LONGEST_QUOTE]!r}")
    return value


def count(value: object) -> int:
    """Of tokens, as a service says it; 0 where that is no number, or one that nobody can have meant."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= _MOST_TOKENS else 0
