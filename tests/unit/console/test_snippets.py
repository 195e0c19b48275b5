"""A search as a line for the shell and as Python: whatever the query holds, it arrives as it was."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
from typing import Any

import pytest

from console_app.snippets import KEY_VARIABLE, as_curl, as_python, request_of

BASE = "http://127.0.0.1:8000"
HOSTILE = [
    "it's",
    'say "hi"',
    "$(touch /tmp/owned) `id` $HOME ${RAGSITE_API_KEY}",
    "a\\b \\' \\\" \\n",
    "two\nlines\r\nand\ttabs",
    "'''triple''' \"\"\"quotes\"\"\"",
    "{braces} {0} %s %(a)s",
    "<script>alert(1)</script>",
    "\u202eevil\u202c \u2028 漢字 👩‍👩‍👧 é",
    "; rm -rf / #",
    "!history @file -x",
    "x" * 300 + " " + "y" * 300,
]


def sent(query: str, name: str = "handbook", **given: Any) -> tuple[str, dict[str, Any]]:
    return request_of(base=BASE, collections=[name], question={"query": query}, given=given)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_shell_sends_what_was_asked(text: str) -> None:
    url, body = sent(text, name=text.replace("/", ""), where={text: {"$in": [text, None, True, 1.5]}})
    words = shlex.split(as_curl(url, body).replace("\\\n", ""))
    assert words[:3] == ["curl", "-sS", url]
    assert words[3:7] == ["-H", f"Authorization: Bearer ${KEY_VARIABLE}", "-H", "Content-Type: application/json"]
    assert json.loads(words[8]) == body
    # A shell itself says the same, and runs nothing.
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}; {KEY_VARIABLE}=secret; {as_curl(url, body)}"
    said = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True).stdout.decode().split("\0")
    assert json.loads(said[7]) == body
    assert said[1] == url
    assert said[3] == "Authorization: Bearer secret"


@pytest.mark.parametrize("text", HOSTILE)
def test_python_sends_what_was_asked(text: str) -> None:
    url, body = sent(text, name=text.replace("/", ""), where={text: {"$in": [text, None, True, 1.5]}}, min_score=0.25)
    code = as_python(url, body)
    assert code.isascii()
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in {"url", "body"}
    }
    assert values == {"url": url, "body": body}


def test_no_key_stands_in_either() -> None:
    for text in (as_curl(*sent("x")), as_python(*sent("x"))):
        assert KEY_VARIABLE in text
        assert "rs_" not in text


def test_names_are_quoted_in_the_address() -> None:
    assert sent("x", name="a b?#%ü")[0] == f"{BASE}/api/rag/collections/a%20b%3F%23%25%C3%BC/search"
    url, body = request_of(base=BASE, collections=["a", "b"], question={"query": "x"}, given={"top_k": 3})
    assert (url, body) == (f"{BASE}/api/rag/search", {"collections": ["a", "b"], "query": "x", "top_k": 3})
