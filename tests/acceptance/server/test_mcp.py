"""The door for agents as agents open it: over HTTP on a whole server, and on standard input."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.acceptance.server.test_whole_server import ROOT, Server

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With two collections of one document each."""
    server = Server(tmp_path_factory.mktemp("mcp") / "data")
    server.start()
    for name, text in (("tea", "Oolong steeps for five minutes."), ("bread", "Rye bread rests for a day.")):
        assert server.http.post("/collections", json={"name": name}).status_code == 201
        body = {"documents": [{"source": f"{name}.md", "text": text}]}
        answer = server.http.post(f"/api/rag/collections/{name}/documents?wait=60", json=body)
        assert answer.json()["state"] == "succeeded", answer.text
    yield server
    server.http.close()
    server.stop()


def stdio(server: Server, *arguments: str, **environ: str) -> StdioServerParameters:
    env = {**os.environ, "RAGSITE_DATA": str(server.data), "PYTHONPATH": str(ROOT), **environ}
    return StdioServerParameters(command=sys.executable, args=["manage.py", "mcp", *arguments], env=env, cwd=ROOT)


async def used(to: Any) -> tuple[list[str], Any, Any]:
    async with Client(to) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("searchDocs", {"query": "how long does oolong steep"})
        listed = await client.call_tool("list_collections", {})
        return names, found.structured_content, listed.structured_content


def test_over_http_by_several_at_once(server: Server) -> None:
    async def together() -> list[Any]:
        return list(await asyncio.gather(*(used(f"http://127.0.0.1:{server.port}/mcp") for _ in range(6))))

    for names, found, listed in asyncio.run(together()):
        assert names[0] == "searchDocs"
        assert found["results"][0]["content"] == "Oolong steeps for five minutes."
        assert [one["name"] for one in listed["collections"]] == ["bread", "tea"]


def test_on_standard_input(server: Server) -> None:
    names, found, listed = asyncio.run(used(stdio(server)))
    assert "researchTopic" not in names, "it is asked for"
    assert found["results"][0]["source"] == "tea.md"
    assert len(listed["collections"]) == 2
    names, _, listed = asyncio.run(used(stdio(server, "--collection", "tea", "--research")))
    assert "researchTopic" in names
    assert [one["name"] for one in listed["collections"]] == ["tea"]


def test_on_standard_input_with_a_key(server: Server, tmp_path: Path) -> None:
    made = asyncio.run(
        _output(server, "create_api_key", "agent", "--verb", "search", "--verb", "read", "--collection", "bread")
    )
    _, found, listed = asyncio.run(used(stdio(server, RAGSITE_API_KEY=made.strip())))
    assert [one["name"] for one in listed["collections"]] == ["bread"]
    assert "tea.md" not in str(found)


async def _output(server: Server, *arguments: str) -> str:
    env = {**os.environ, "RAGSITE_DATA": str(server.data)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "manage.py", *arguments, cwd=ROOT, env=env, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        (("--key-env", "TYPO"), {}, "There is no environment variable TYPO."),
        ((), {"RAGSITE_API_KEY": " "}, "RAGSITE_API_KEY is empty."),
        ((), {"RAGSITE_API_KEY": "rs_x"}, "This API key is not valid."),
        (("--collection", "nowhere"), {}, "Collection 'nowhere' not found"),
    ],
)
def test_what_cannot_be_meant_stops_the_start(
    server: Server, arguments: tuple[str, ...], environ: dict[str, str], said: str
) -> None:
    """Never everything instead."""
    env = {**os.environ, "RAGSITE_DATA": str(server.data), **environ}
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
