"""A search as what a program would send: a line for the shell, and a few lines of Python."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

#: Where both look for the key, so that none stands in a text that is passed around.
KEY_VARIABLE = "RAGSITE_API_KEY"

_PYTHON = """import json
import os
import urllib.request

url = {url}
body = {body}
request = urllib.request.Request(
    url,
    data=json.dumps(body).encode(),
    headers={{"Content-Type": "application/json", "Authorization": f"Bearer {{os.environ[{key}]}}"}},
)
with urllib.request.urlopen(request) as answer:
    found = json.load(answer)
for hit in found["results"]:
    print(hit["score"], hit["metadata"]["source"], hit["content"][:80])
"""


def request_of(
    *, base: str, collections: Sequence[str], question: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The address and the body of this search over HTTP; `base` is the server's, without a slash at its end."""
    body = {**question, **given}
    if len(collections) == 1:
        return f"{base}/api/rag/collections/{quote(collections[0], safe='')}/search", body
    return f"{base}/api/rag/search", {"collections": list(collections), **body}


def as_curl(url: str, body: Mapping[str, Any]) -> str:
    """For a POSIX shell; the body is ASCII, so no terminal changes it."""
    return " \\\n  ".join(
        [
            f"curl -sS {shlex.quote(url)}",
            f'-H "Authorization: Bearer ${KEY_VARIABLE}"',
            "-H 'Content-Type: application/json'",
            f"--data-binary {shlex.quote(json.dumps(body))}",
        ]
    )


def as_python(url: str, body: Mapping[str, Any]) -> str:
    """For Python's standard library alone."""
    shown = pprint.pformat(dict(body), width=100, sort_dicts=False)
    # Whatever cannot be seen, or is not ASCII, is escaped: the text survives any editor.
    return _PYTHON.format(url=ascii(url), body=_escaped(shown), key=ascii(KEY_VARIABLE))


def _escaped(code: str) -> str:
    return code.encode("ascii", "backslashreplace").decode("ascii")
