"""How the libraries' clients speak HTTP: to the configured address and nowhere else, with what a call needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def http_client(*, has_key: bool) -> httpx2.AsyncClient:
    """No proxy of the environment, no redirect, no header but those needed.

    Not what the libraries have for this purpose: Anthropic's takes proxies from the environment in any case.
    """
    import httpx2  # noqa: PLC0415 - heavy

    sent = _SENT if has_key else _SENT - _CREDENTIALS

    async def strip(request: httpx2.Request) -> None:
        for name in {name.lower() for name in request.headers} - sent:
            del request.headers[name]

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, event_hooks={"request": [strip]})
