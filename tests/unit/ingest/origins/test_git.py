"""A repository is cloned within its limits, from a host that was checked, and nothing of it is left."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import psutil
import pytest

from ingest_app.origins.found import Unreadable
from ingest_app.origins.git import GitLimits, cloned, revision
from ingest_app.origins.git_process import Bounds, GitFailed, run_git
from ingest_app.origins.time_limit import TimeLimit
from tests.unit.ingest.origins.repositories import (
    Stopped,
    commit,
    deep_tree,
    git,
    make_repository,
    serving_git,
    stopping_after,
    tree_of_long_names,
    tree_of_trees,
)
from tests.unit.ingest.origins.servers import CERTIFICATE, Answer, Call, Names, Server, redirect_to, serving

HERE = ip_network("127.0.0.1/32")
FILES = {"README.md": b"# Read me\n", "docs/a b.txt": b"text\r\n", "docs/\xc3\xbc.md".encode().decode(): b"u"}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary folders: nothing is left in it after any test, and no git runs on."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert still_running(folder) == []


def still_running(folder: Path) -> list[psutil.Process]:
    """Processes that work below a folder, even one that is gone; one that was killed has a moment to go."""
    found = [process for process in psutil.process_iter(["cwd"]) if str(folder) in (process.info["cwd"] or "")]
    return list(psutil.wait_procs(found, timeout=10)[1])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "served" / "docs.git", {**FILES, ".hidden": b"h"})


@pytest.fixture
def server(repository: Path) -> Iterator[Server]:
    with serving_git(repository.parent) as running:
        yield running


def contents(url: str, *, branch: str | None = None, names: Names | None = None, **limits: Any) -> dict[str, bytes]:
    """The files of a clone, but for git's own."""
    chosen = GitLimits(**{"max_bytes": 50_000_000, "timeout_seconds": 60, "allowed_networks": [HERE], **limits})
    options: dict[str, Any] = {} if names is None else {"resolve": names}
    with cloned(url=url, branch=branch, limits=chosen, check=lambda: None, **options) as folder:
        found = [path for path in folder.rglob("*") if ".git" not in path.parts and not path.is_dir()]
        assert not [path for path in found if path.is_symlink()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def refused(url: str, **options: Any) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        contents(url, **options)
    return caught.value


def test_the_files_are_there_and_gone_afterwards(server: Server, repository: Path) -> None:
    limits = GitLimits(max_bytes=50_000_000, timeout_seconds=60, allowed_networks=[HERE])
    with cloned(url=f"{server.url}/docs.git", branch=None, limits=limits, check=lambda: None) as folder:
        assert (folder / "docs" / "a b.txt").read_bytes() == b"text\r\n"
        assert revision(folder) == git(repository, "rev-parse", "HEAD")
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    assert contents(f"{server.url}/docs.git") == {**FILES, ".hidden": b"h"}


def test_only_the_newest_commit_comes(server: Server, repository: Path) -> None:
    newest = commit(repository, {"new.txt": b"new"})
    limits = GitLimits(max_bytes=50_000_000, timeout_seconds=60, allowed_networks=[HERE])
    with cloned(url=f"{server.url}/docs.git", branch=None, limits=limits, check=lambda: None) as folder:
        assert revision(folder) == newest
        assert git(folder, "rev-list", "--count", "HEAD") == "1"


def test_a_branch_or_a_tag_is_taken_when_named(server: Server, repository: Path) -> None:
    git(repository, "tag", "v1")
    git(repository, "checkout", "-q", "-b", "feature/ü")
    commit(repository, {"feature.txt": b"f"})
    git(repository, "checkout", "-q", "main")
    assert "feature.txt" in contents(f"{server.url}/docs.git", branch="feature/ü")
    assert "feature.txt" not in contents(f"{server.url}/docs.git", branch="v1")
    assert "feature.txt" not in contents(f"{server.url}/docs.git")


@pytest.mark.parametrize(
    ("path", "branch", "said"),
    [
        ("/docs.git", "missing", "no branch of this name"),
        ("/none.git", None, "no git repository"),
        ("/redirect-certificate.git", None, "no git repository"),
    ],
)
def test_what_is_not_there_is_said_so(server: Server, path: str, branch: str | None, said: str) -> None:
    error = refused(server.url + path, branch=branch)
    assert error.code == "git_failed"
    assert said in error.detail


def test_a_repository_without_a_commit_is_said_so(tmp_path: Path, server: Server) -> None:
    (tmp_path / "served" / "empty.git").mkdir()
    git(tmp_path / "served" / "empty.git", "init", "-q", "--bare")
    assert "no commit" in refused(f"{server.url}/empty.git").detail


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc", "/etc", "ssh://git@example.org/x", "git@example.org:x/y.git", "git://example.org/x",
        "ext::sh -c id% >&2", "http::http://example.org", "ftp://example.org/x", "--upload-pack=id", "-u", "",
        "http://user:secret@example.org/x.git", "https://token@example.org/x.git",
    ],
)  # fmt: skip
def test_only_http_without_a_password_is_cloned(url: str) -> None:
    assert refused(url).code == "invalid_url"


@pytest.mark.parametrize(
    "branch",
    ["", "-", "--upload-pack=id", "-b", "a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a\n", "a\x7f",
     "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "a@{1}", "a" * 201],
)  # fmt: skip
def test_what_is_no_branch_never_reaches_git(branch: str) -> None:
    assert refused("http://example.org/x.git", branch=branch).code == "invalid_branch"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://[::1]/x", "http://inside.example/x"])
def test_a_host_inside_is_not_asked(url: str) -> None:
    names = Names({"inside.example": [["8.8.8.8", "10.0.0.1"]]})
    assert refused(url, allowed_networks=[], names=names).code == "private_address"


def test_git_connects_to_the_address_that_was_checked(server: Server) -> None:
    """The name is known to the given name server alone, so git cannot have looked it up."""
    names = Names({"git.example": [["127.0.0.1"], ["127.0.0.2"]]})
    assert "README.md" in contents(f"http://git.example:{server.port}/docs.git", names=names)
    assert names.asked == ["git.example"]
    assert {headers["host"] for _, headers in server.seen} == {f"git.example:{server.port}"}


def test_a_redirect_is_not_followed(repository: Path) -> None:
    with serving_git(repository.parent) as elsewhere:
        answer = redirect_to(f"{elsewhere.url}/docs.git/info/refs?service=git-upload-pack", 301)
        with serving({}, otherwise=answer) as server:
            error = refused(f"{server.url}/docs.git")
    assert error.code == "git_failed"
    assert "leads on to another" in error.detail
    assert not elsewhere.seen


@pytest.mark.parametrize("url", ["file:///{folder}", "{folder}", "ext::sh -c id", "ssh://127.0.0.1/x"])
def test_git_itself_is_told_to_speak_http_only(url: str, repository: Path, temporary: Path) -> None:
    """Should a URL ever get past the check of URLs."""
    limit = TimeLimit(seconds=30, late=Unreadable("late"), check=lambda: None)
    bounds = Bounds(folder=temporary, max_bytes=10**9, max_memory_bytes=10**9, time_limit=limit)
    with pytest.raises(GitFailed) as caught:
        run_git(["clone", "--", url.format(folder=repository), "x"], bounds=bounds)
    assert "not allowed" in caught.value.complaints
    for name in ("printed", "complaints"):
        (temporary / name).unlink()


def test_links_are_left_out(tmp_path: Path, server: Server) -> None:
    links = {"link": "/etc/passwd", "folder": "/etc", "up": "../../..", "ü b": "/", "to a": "a"}
    make_repository(tmp_path / "served" / "links.git", {"a": b"a", "d/e": b"e"}, links={**links, "d/link": "../a"})
    assert contents(f"{server.url}/links.git") == {"a": b"a", "d/e": b"e"}


def test_no_submodule_comes_along(tmp_path: Path, server: Server, repository: Path) -> None:
    outer = make_repository(tmp_path / "served" / "outer.git", {"a": b"a"})
    modules = f'[submodule "inner"]\n\tpath = inner\n\turl = {server.url}/docs.git\n'
    (outer / ".gitmodules").write_text(modules, encoding="utf-8")
    git(outer, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},inner")
    git(outer, "add", ".gitmodules")
    git(outer, "commit", "-q", "-m", "Submodule")
    assert set(contents(f"{server.url}/outer.git")) == {"a", ".gitmodules"}
    assert not [path for path, _ in server.seen if "docs.git" in path]


def test_nothing_of_this_machine_s_settings_counts(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of the user, of the environment and a proxy, all of which would break the clone or run something."""
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    ran = tmp_path / "ran"
    for program in (home / "hooks" / "post-checkout", home / "helper"):
        program.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
        program.chmod(0o755)
    settings = (
        f'[core]\n\thooksPath = {home}/hooks\n\tsymlinks = true\n[url "file:///nowhere/"]\n\tinsteadOf = http://\n'
    )
    settings += f'[filter "x"]\n\tsmudge = {home}/helper\n[http]\n\tproxy = http://127.0.0.1:1\n'
    (home / ".gitconfig").write_text(settings, encoding="utf-8")
    make_repository(tmp_path / "served" / "filtered.git", {"a": b"a", ".gitattributes": b"* filter=x\n"})
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(home / "hooks"),
        "GIT_ASKPASS": str(home / "helper"),
        "http_proxy": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    assert contents(f"{server.url}/filtered.git")["a"] == b"a"
    assert not ran.exists()


def test_nobody_is_asked_for_a_password(repository: Path) -> None:
    ask: Answer = lambda call: call.send(b"", status=401, www_authenticate='Basic realm="x"')  # noqa: E731
    with serving({}, otherwise=ask) as server:
        assert "not public" in refused(f"{server.url}/docs.git").detail


def test_what_a_server_says_is_kept_short_and_without_paths(repository: Path) -> None:
    def answer(call: Call) -> None:
        said = b"ERR " + b"see http://127.0.0.1/x and /etc/passwd\x1b[31m " + b"y" * 900
        service = b"001e# service=git-upload-pack\n0000"
        packet = b"%04x" % (len(said) + 4) + said
        call.send(service + packet, content_type="application/x-git-upload-pack-advertisement")

    with serving({}, otherwise=answer) as server:
        error = refused(f"{server.url}/docs.git")
    assert error.code == "git_failed"
    assert len(error.detail) < 300
    assert not [part for part in ("127.0.0.1", "/etc", "\x1b", "\n") if part in error.detail]


@pytest.mark.parametrize(
    "content", [random.Random(1).randbytes(3_000_000), b"\0" * 30_000_000], ids=["as sent", "unpacked"]
)
def test_a_clone_that_takes_too_much_disk_is_stopped(tmp_path: Path, server: Server, content: bytes) -> None:
    make_repository(tmp_path / "served" / "large.git", {"large.bin": content})
    assert refused(f"{server.url}/large.git", max_bytes=1_000_000).code == "too_large"
    assert contents(f"{server.url}/large.git")["large.bin"] == content


def test_many_empty_files_take_room_too(tmp_path: Path, server: Server) -> None:
    make_repository(tmp_path / "served" / "many.git", {f"{number}.txt": b"" for number in range(300)})
    assert refused(f"{server.url}/many.git", max_bytes=1_000_000).code == "too_large"
    assert len(contents(f"{server.url}/many.git", max_bytes=2_000_000)) == 300


def test_a_small_repository_that_unpacks_to_everything_is_stopped(tmp_path: Path, server: Server) -> None:
    tree_of_trees(tmp_path / "served" / "bomb.git", levels=9)
    assert refused(f"{server.url}/bomb.git", max_memory_bytes=150_000_000).code == "too_large"


def hanging(call: Call) -> None:
    call.server.over.wait(60)


def dripping(call: Call) -> None:
    call.send(b"", content_length="1000000", content_type="application/x-git-upload-pack-advertisement")
    call.keep_sending(b"0", every=0.02)


@pytest.mark.parametrize("answer", [hanging, dripping])
def test_a_server_that_takes_for_ever_is_given_up(answer: Answer) -> None:
    with serving({}, otherwise=answer) as server:
        assert refused(f"{server.url}/docs.git", timeout_seconds=0.7).code == "git_timeout"


@pytest.mark.parametrize("answer", [hanging, dripping])
def test_whoever_waits_may_stop_it(answer: Answer, temporary: Path) -> None:
    limits = GitLimits(max_bytes=10**9, timeout_seconds=60, allowed_networks=[HERE])
    with serving({}, otherwise=answer) as server:
        cloning = cloned(url=f"{server.url}/docs.git", branch=None, limits=limits, check=stopping_after(5))
        with pytest.raises(Stopped), cloning:
            pytest.fail("it was cloned")
        # Now, for whatever talks to the server ends by itself once that is gone.
        assert still_running(temporary) == []


def test_nothing_is_left_when_the_reader_fails(server: Server) -> None:
    limits = GitLimits(max_bytes=10**9, timeout_seconds=60, allowed_networks=[HERE])
    cloning = cloned(url=f"{server.url}/docs.git", branch=None, limits=limits, check=lambda: None)
    with pytest.raises(Stopped), cloning:
        raise Stopped


def test_https_is_checked(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names({"files.example": [["127.0.0.1"]], "other.example": [["127.0.0.1"]]})
    with serving({}, tls=True) as server:
        untrusted = refused(f"https://files.example:{server.port}/docs.git", names=names)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        wrong = refused(f"https://other.example:{server.port}/docs.git", names=names)
        assert not server.seen
        trusted = refused(f"https://files.example:{server.port}/docs.git", names=names)
        assert server.seen
    assert "certificate" in untrusted.detail
    assert "certificate" in wrong.detail
    assert "no git repository" in trusted.detail


def test_without_git_it_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused("http://127.0.0.1/x").code == "git_missing"


@pytest.mark.parametrize("version", ["git version 2.36.9", "git version 1.99", "something else"])
def test_an_old_git_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\necho "{version}"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert refused("http://127.0.0.1/x").code == "git_too_old"


def test_what_a_killed_process_left_is_removed_by_the_next(server: Server, temporary: Path) -> None:
    limits = GitLimits(max_bytes=10**9, timeout_seconds=60, allowed_networks=[HERE])
    left = temporary / "ragsite-clone-left"
    (left / "repository").mkdir(parents=True)
    (left / "lock").touch()
    long_ago = time.time() - 7200
    with cloned(url=f"{server.url}/docs.git", branch=None, limits=limits, check=lambda: None) as running:
        assert left.exists()
        for folder in (left, running.parent):
            os.utime(folder, (long_ago, long_ago))
        contents(f"{server.url}/docs.git")
        assert not left.exists()
        assert running.exists()


def test_folders_nested_deeper_than_any_path_leave_nothing(tmp_path: Path, server: Server, temporary: Path) -> None:
    deep_tree(tmp_path / "served" / "deep.git", levels=1300)
    assert refused(f"{server.url}/deep.git").code == "git_failed"
    assert list(temporary.glob("ragsite-clone-*")) == []


def test_what_was_half_removed_is_removed_too(server: Server, temporary: Path) -> None:
    """However deep it is, and without the lock that says that its owner lives."""
    left = temporary / "ragsite-clone-left"
    left.mkdir()
    inner = os.open(left, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("f", dir_fd=inner)
        deeper = os.open("f", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = deeper
    os.close(inner)
    long_ago = time.time() - 7200
    os.utime(left, (long_ago, long_ago))
    contents(f"{server.url}/docs.git")
    assert not left.exists()


def test_what_lies_too_deep_to_be_measured_is_refused(tmp_path: Path, server: Server) -> None:
    """git itself can write there, and more than a clone may take."""
    tree_of_long_names(tmp_path / "served" / "long.git", {"large": b"a" * 2_000_000})
    assert refused(f"{server.url}/long.git", max_bytes=1_000_000).code == "git_failed"
