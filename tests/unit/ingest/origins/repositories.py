"""Git repositories, and a server that speaks git's own protocol over HTTP."""

from __future__ import annotations

import gzip
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.unit.ingest.origins.servers import Answer, Call, Server, serving

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{who}_{what}": "tests@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str, given: bytes = b"", **environment: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=given, capture_output=True, check=True, env=_ENVIRONMENT | environment
    )
    return done.stdout.decode().strip()


def make_repository(folder: Path, files: Mapping[str, bytes], *, links: Mapping[str, str] | None = None) -> Path:
    """A repository with one commit on `main`."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, files, links=links)
    return folder


def commit(folder: Path, files: Mapping[str, bytes], *, links: Mapping[str, str] | None = None) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, leads_to in (links or {}).items():
        (folder / name).symlink_to(leads_to)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "Files", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


def tree_of_trees(folder: Path, *, levels: int) -> None:
    """A few objects that unpack to ten times as many files with each level."""
    make_repository(folder, {"a": b""})
    kind, name = "100644 blob", git(folder, "hash-object", "-w", "--stdin")
    for _ in range(levels):
        rows = "".join(f"{kind} {name}\tf{number}\n" for number in range(10))
        kind, name = "040000 tree", git(folder, "mktree", given=rows.encode())
    git(folder, "update-ref", "refs/heads/main", git(folder, "commit-tree", name, "-m", "Bomb"))


def _backend(root: Path) -> Answer:
    """git's own CGI program."""

    def answer(call: Call) -> None:
        path, _, query = call.path.partition("?")
        body = call.rfile.read(int(call.headers.get("Content-Length", 0)))
        if call.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=False,
            env={
                **_ENVIRONMENT,
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                # The repositories belong to whoever runs the tests; git asks no further.
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "GIT_PROTOCOL": call.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": call.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": call.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "REMOTE_ADDR": "127.0.0.1",
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200").split()[0])
        call.send(content, status=status, **headers)

    return answer


@contextmanager
def serving_git(root: Path, answers: Mapping[str, Answer] | None = None) -> Iterator[Server]:
    """The repositories below a folder; `answers` go first."""
    with serving(answers or {}, otherwise=_backend(root)) as server:
        yield server


def stopping_after(calls: int) -> Callable[[], None]:
    """A check that has enough after so many calls."""
    left = [calls]

    def check() -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Stopped

    return check


class Stopped(Exception):
    """Raised by a check."""


def deep_tree(folder: Path, *, levels: int) -> None:
    """A file in folders that are nested deeper than a path of the file system may be long."""
    make_repository(folder, {"a": b""})
    kind, name, called = "100644 blob", git(folder, "hash-object", "-w", "--stdin"), "file"
    for _ in range(levels):
        name = git(folder, "mktree", given=f"{kind} {name}\t{called}\n".encode())
        kind, called = "040000 tree", "fff"
    git(folder, "update-ref", "refs/heads/main", git(folder, "commit-tree", name, "-m", "Deep"))


def tree_of_long_names(folder: Path, files: Mapping[str, bytes]) -> None:
    """Files below folders whose path is just short enough to be written from inside of the clone."""
    make_repository(folder, {"a": b""})
    rows = ""
    for called, content in files.items():
        rows += f"100644 blob {git(folder, 'hash-object', '-w', '--stdin', given=content)}\t{called}\n"
    name = git(folder, "mktree", given=rows.encode())
    for called in ["g" * 66, *["f" * 250] * 16]:
        name = git(folder, "mktree", given=f"040000 tree {name}\t{called}\n".encode())
    git(folder, "update-ref", "refs/heads/main", git(folder, "commit-tree", name, "-m", "Long"))
