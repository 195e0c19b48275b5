"""A git repository as an origin: its files at one commit, in a folder that is gone afterwards."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ingest_app.origins.addresses import Address, Network, Resolver, allowed_addresses, system_resolver
from ingest_app.origins.found import Unreadable
from ingest_app.origins.git_process import PRINTED, Bounds, GitFailed, run_git, too_deep
from ingest_app.origins.targets import Target, target_of
from ingest_app.origins.time_limit import TimeLimit

_PREFIX = "ragsite-clone-"
_LOCK = "lock"
_LINK = b"120000 "
_ABANDONED_SECONDS = 3600
_REVISION_SECONDS = 60
_NO_BOUND = 2**63
#: What `git check-ref-format` allows, but for what looks like an option.
_BRANCH = re.compile(r"(?![-/.])(?!.*(?:\.\.|//|/\.|@\{|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]{1,200}(?<![/.])")
#: What git says, and what that means to whoever entered the URL. The first that fits.
_MEANINGS = (
    (r"not found in upstream", "The repository has no branch of this name."),
    (r"terminal prompts disabled|Authentication failed|error: 40[13]", "The repository is not public, or not there."),
    (r"repository .* not found|error: 404", "There is no git repository at this URL."),
    (r"error: 3\d\d|redirect", "The URL leads on to another. Give that one; often it ends in .git."),
    (r"certificate|SSL_ERROR|CAfile", "The certificate of the server is not valid for this name or not trusted."),
    (r"Could not connect|Failed to connect|Connection refused|timed out", "The server cannot be reached."),
    (r"dumb http|not valid: is this a git repository", "There is no git repository at this URL that can be cloned."),
)


@dataclass(frozen=True, kw_only=True)
class GitLimits:
    """`max_bytes` is what the clone takes on disk with git's own files; `timeout_seconds` is for all of it."""

    max_bytes: int
    timeout_seconds: float
    allowed_networks: Sequence[Network] = ()
    #: A repository of a few kilobytes can be made that takes all memory when it is unpacked.
    max_memory_bytes: int = 2 * 1024**3


@contextmanager
def cloned(
    *,
    url: str,
    branch: str | None,
    limits: GitLimits,
    check: Callable[[], None],
    resolve: Resolver = system_resolver,
) -> Iterator[Path]:
    """A folder with the newest files of a branch (or tag), or of the repository's own default branch.

    Links and submodules of the repository are left out. The folder holds a `.git`, and is removed in the end. `check`
    is called several times a second while git runs and may raise. Raises Unreadable with one of the codes
    `invalid_url`, `invalid_branch`, `private_address`, `fetch_failed`, `git_missing`, `git_too_old`, `git_failed`,
    `git_timeout`, `too_large`.
    """
    target = target_of(url)
    check_branch(branch)
    late = Unreadable(f"It was not cloned within {limits.timeout_seconds:g} seconds.", code="git_timeout")
    time_limit = TimeLimit(seconds=limits.timeout_seconds, late=late, check=check)
    addresses = allowed_addresses(
        host=target.host, port=target.port, allowed=limits.allowed_networks, time_limit=time_limit, resolve=resolve
    )
    with _workplace() as folder:
        bounds = Bounds(
            folder=folder,
            max_bytes=limits.max_bytes,
            max_memory_bytes=limits.max_memory_bytes,
            time_limit=time_limit,
        )
        yield _clone(target, branch, addresses, bounds)


def check_branch(branch: str | None) -> None:
    """Raise Unreadable with the code `invalid_branch` for what is no name of a branch; None is the default one."""
    if branch is not None and not _BRANCH.fullmatch(branch):
        raise Unreadable("This is no name that a branch can have.", code="invalid_branch")


def revision(path: Path) -> str:
    """The commit that was cloned to this folder."""
    late = Unreadable("git did not answer.", code="git_timeout")
    time_limit = TimeLimit(seconds=_REVISION_SECONDS, late=late, check=lambda: None)
    bounds = Bounds(folder=path.parent, max_bytes=_NO_BOUND, max_memory_bytes=_NO_BOUND, time_limit=time_limit)
    try:
        return run_git([f"--git-dir={path / '.git'}", "rev-parse", "--verify", "HEAD"], bounds=bounds).strip()
    except GitFailed:
        raise Unreadable("The repository holds no commit yet.", code="git_failed") from None


def _clone(target: Target, branch: str | None, addresses: Sequence[Address], bounds: Bounds) -> Path:
    path = bounds.folder / "repository"
    arguments = ["clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-recurse-submodules"]
    # Without a template there are no hooks, whatever this machine's administrator put there.
    arguments += ["--template=", *([] if branch is None else [f"--branch={branch}"]), "--", target.url, str(path)]
    try:
        run_git(arguments, bounds=bounds, settings=_pinned(target, addresses))
    except GitFailed as failure:
        raise Unreadable(_meaning(failure.complaints), code="git_failed") from None
    revision(path)
    _remove_links(path, bounds)
    return path


def _remove_links(path: Path, bounds: Bounds) -> None:
    """git was told to make no links, so each is a small file with the name of what it leads to: nobody's text."""
    run_git([f"--git-dir={path / '.git'}", "ls-files", "--stage", "-z"], bounds=bounds)
    for entry in (bounds.folder / PRINTED).read_bytes().split(b"\0"):
        kind, _, name = entry.partition(b"\t")
        if kind.startswith(_LINK):
            try:
                (path / os.fsdecode(name)).unlink(missing_ok=True)
            except OSError:
                raise too_deep() from None


def _pinned(target: Target, addresses: Sequence[Address]) -> list[tuple[str, str]]:
    """Where the host is: its name is not looked up again, for it could lead somewhere else by then."""
    if str(addresses[0]) == target.host:
        return []  # an address itself
    listed = ",".join(f"[{address}]" if address.version == 6 else str(address) for address in addresses)
    return [("http.curloptResolve", f"{target.host}:{target.port}:{listed}")]


def _meaning(complaints: str) -> str:
    """A sentence for what git complained of. What the server had it print (`remote:`) is left out."""
    lines = [line for line in complaints.splitlines() if line.startswith(("fatal:", "error:"))]
    # Without URLs and paths: those are nobody's business, or would be taken for what git says.
    own = [re.sub(r"https?://\S+|(?<!\w)/\S+", "…", line) for line in lines]
    for line in reversed(own):
        for pattern, sentence in _MEANINGS:
            if re.search(pattern, line, re.IGNORECASE):
                return sentence
    last = own[-1].partition(":")[2] if own else ""
    said = "".join(filter(str.isprintable, last)).strip()[:200].rstrip(".")
    return f"It could not be cloned: {said}." if said else "It could not be cloned."


@contextmanager
def _workplace() -> Iterator[Path]:
    """A folder of our own, removed in the end. The lock says that its owner lives."""
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with (folder / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    finally:
        _remove(folder)


def _remove_abandoned() -> None:
    """A process that was killed could not remove its clone, and such a folder may be large."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            state = folder.lstat()
            if state.st_uid != os.getuid() or time.time() - state.st_mtime < _ABANDONED_SECONDS:
                continue
            with (folder / _LOCK).open("ab") as lock:  # one that is half removed may have none any more
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)


def _remove(folder: Path) -> None:
    """Not by shutil, which gives up on folders that are nested deeper than Python calls go."""
    command = ["rm", "-rf", "--", str(folder)]
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL, env={"PATH": os.defpath})  # noqa: S603
