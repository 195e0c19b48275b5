"""A list of URLs as an origin: each is a file."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ingest_app.origins.addresses import Resolver, system_resolver
from ingest_app.origins.fetching import FetchLimits, fetch
from ingest_app.origins.found import FoundFile, Unreadable
from ingest_app.origins.targets import target_of

#: After so many URLs in a row of one server that failed after so long, or after half of the time that each has, its
#: others are not tried: there may be thousands.
SILENT_TIMES = 3
SILENT_SECONDS = 5.0


class UrlReader:
    """Reads what a list of URLs names, without going from one page to the next."""

    def __init__(self, urls: Sequence[str], limits: FetchLimits, *, resolve: Resolver = system_resolver) -> None:
        self._urls = urls
        self._limits = limits
        self._resolve = resolve
        #: How often each server was waited for in vain since it answered last.
        self._silent: Counter[tuple[str, int]] = Counter()

    def files(self, check: Callable[[], None]) -> Iterator[FoundFile]:
        """In the order of the list, each URL once. One that is no URL is a file too, which cannot be read."""
        seen: set[str] = set()
        for url in self._urls:
            name = source_name(url)
            if name and name not in seen:
                seen.add(name)
                yield FoundFile(name=name, read=partial(self._content, url, check))

    def _content(self, url: str, check: Callable[[], None]) -> bytes:
        target = target_of(url)
        server = (target.host, target.port)
        if self._silent[server] >= SILENT_TIMES:
            raise Unreadable(
                f"Its server was waited for in vain {SILENT_TIMES} times, so it was not asked again in this run.",
                code="fetch_timeout",
            )
        began = time.monotonic()
        try:
            content = fetch(url=url, limits=self._limits, check=check, resolve=self._resolve)
        except Unreadable:
            waited = time.monotonic() - began >= min(SILENT_SECONDS, self._limits.timeout_seconds / 2)
            self._silent[server] = self._silent[server] + 1 if waited else 0
            raise
        self._silent[server] = 0
        return content


def source_name(url: str) -> str:
    """The name of a URL's document: its normal form. What is no URL stays, but for a password in it."""
    try:
        return target_of(url).url
    except Unreadable:
        return re.sub(r"//[^/]*@", "//", url.strip())
