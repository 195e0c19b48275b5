"""Postgres refuses to run as root: finds an identity it can run under without opening any folder to it."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ragsite.runtime.folders import UnableToStart

_ROOT = 0
_MAPPED_USER = 1000
#: Runs as the candidate: not root, may enter the folder, may run the program.
_PROBE = 'test "$(id -u)" != 0 && test -x "$1" && exec "$0" --version'


@dataclass(frozen=True, kw_only=True)
class Identity:
    """How to run a program unprivileged: what to put before its command line, and who owns its files."""

    prefix: tuple[str, ...]
    uid: int
    gid: int


def candidates(environ: Mapping[str, str]) -> Iterator[Identity]:
    """What root may try, best first.

    In a user namespace the program believes to be an ordinary user while its files stay root's, so it
    reaches a private folder of root. Otherwise: who called sudo, then the system's own accounts.
    """
    mapped = (f"--map-user={_MAPPED_USER}", f"--map-group={_MAPPED_USER}")
    yield Identity(prefix=("unshare", "--user", *mapped, "--"), uid=_ROOT, gid=_ROOT)
    for name in (environ.get("SUDO_USER", ""), "postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_uid != _ROOT:
            who = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
            # A change of user clears the parent-death signal, so it is set again after it.
            yield Identity(prefix=("setpriv", *who, "--pdeathsig=INT", "--"), uid=account.pw_uid, gid=account.pw_gid)


def works(identity: Identity, program: Path, folder: Path) -> bool:
    """Whether the program really runs under that identity and reaches the folder."""
    command = [*identity.prefix, "sh", "-c", _PROBE, str(program), str(folder)]
    try:
        probe = subprocess.run(command, capture_output=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


def unprivileged_identity(
    *,
    program: Path,
    folder: Path,
    environ: Mapping[str, str],
    effective_uid: int | None = None,
    works: Callable[[Identity, Path, Path], bool] = works,
) -> Identity:
    """Ourselves when we are not root; else the first candidate that works. Raises UnableToStart."""
    uid = os.geteuid() if effective_uid is None else effective_uid
    if uid != _ROOT:
        return Identity(prefix=(), uid=uid, gid=os.getegid())
    for candidate in candidates(environ):
        if works(candidate, program, folder):
            return candidate
    raise UnableToStart(
        "Postgres cannot run as root, user namespaces are not allowed here, and no ordinary account reaches "
        f"{folder} and {program}. Start Ragsite as an ordinary user that owns both, or give an existing "
        "database with ConnectionStrings__RagDatabase."
    )


def give_to(identity: Identity, folder: Path) -> None:
    """Hand a folder and everything in it to the identity; only root ever needs to."""
    if os.geteuid() != _ROOT or folder.stat().st_uid == identity.uid:
        return
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.chown(Path(place) / name, identity.uid, identity.gid, follow_symlinks=False)
        os.chown(place, identity.uid, identity.gid)  # the top comes last: an interrupted run starts over
