"""What helps against each way in which work on a file or a job can fail; the list itself is `cures.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from django.utils.translation import gettext, gettext_noop

#: For a code that is not on the list, such as one of an older version.
UNKNOWN = gettext_noop(
    "Do what the sentence says. If it does not help, the log of the workers has more under the job's number."
)
#: Failures that come again however often the same bytes are tried: something else has to be sent.
LASTING = frozenset(
    {
        "corrupt_file",
        "duplicate_source",
        "empty_file",
        "encrypted",
        "invalid_source",
        "scanned_pdf",
        "superseded",
        "text_not_kept",
        "unsupported_type",
    }
)


@cache
def cures() -> Mapping[str, str]:
    """What to do, by code; in English, as the translations are looked up by."""
    return MappingProxyType(tomllib.loads(files("ingest_app").joinpath("cures.toml").read_text(encoding="utf-8")))


def cure_of(code: str) -> str:
    """What to do about a failure, in the language of the request; empty where nothing failed."""
    return gettext(cures().get(code, UNKNOWN)) if code else ""
