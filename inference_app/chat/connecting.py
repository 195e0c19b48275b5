"""How the libraries' clients speak HTTP: to the configured address and nowhere else, with what a call needs."""

from __future__ import annotations

from typing import Any

#: Whatever else the libraries would send tells of this machine, or comes from its environment.
_SENT = frozenset(
    {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
        "transfer-encoding", "authorization", "x-api-key", "anthropic-version",
    }
)  # fmt: skip
_CREDENTIALS = frozenset({"authorization", "x-api-key"})


def client_options(*, has_key: bool) -> dict[str, Any]:
    """For the HTTP client of either library: no proxy of the environment, no redirect, no header but those needed."""
    sent = _SENT if has_key else _SENT - _CREDENTIALS

    async def strip(request: Any) -> None:
        for name in {name.lower() for name in request.headers} - sent:
            del request.headers[name]

    return {"trust_env": False, "follow_redirects": False, "event_hooks": {"request": [strip]}}
