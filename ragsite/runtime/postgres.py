"""An embedded Postgres on a private socket: started whole, recovered after a kill, never shared by two."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from ragsite.runtime import postgres_files
from ragsite.runtime.folders import (
    FolderLock,
    SocketFolder,
    UnableToStart,
    make_private_folder,
    write_private,
)
from ragsite.runtime.identity import Identity, give_to, unprivileged_identity
from ragsite.runtime.processes import (
    Pause,
    end_leftovers,
    signal_group,
    spawn,
    wait_for_end,
    with_working_folder,
)

ROLE = DATABASE = "ragsite"
PORT = 5432  # names the socket's file; nothing listens on the network
#: Replaying the log after a crash may take minutes; a server that is gone is noticed at once.
START_SECONDS = 900.0
_LEFTOVER_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))


@dataclass(frozen=True, kw_only=True)
class DatabaseAddress:
    """How a client reaches the database."""

    user: str
    password: str = field(repr=False)
    database: str
    sockets: Path
    port: int = PORT

    @property
    def url(self) -> str:
        """A libpq URL with the password in it: for environments and 0600 files only."""
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        host = quote(str(self.sockets), safe="")
        return f"postgresql://{login}@/{self.database}?host={host}&port={self.port}"


class EmbeddedPostgres:
    """The database in `data/postgres`. `for_tests`: no fsync, little memory, the role may make databases."""

    def __init__(self, data: Path, *, for_tests: bool = False) -> None:
        self._data = data.resolve()
        self._for_tests = for_tests
        self._lock = FolderLock(self._data / "postgres.lock")
        self._socket_folder = SocketFolder(self._data / "postgres.sockets")
        self._sockets: Path | None = None
        self._identity: Identity | None = None
        self._passwords: postgres_files.Passwords | None = None
        self.folder = self._data / "postgres"
        self.log = self._data / "logs" / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> DatabaseAddress:
        """The application's way in; known once started."""
        return self._address(superuser=False)

    def start(self, *, pause: Pause = time.sleep) -> DatabaseAddress:
        """Start or recover the database and wait until it answers.

        `pause` is called while waiting; what it raises ends the start cleanly. Raises AlreadyRunning when
        another process holds the folder, else UnableToStart.
        """
        make_private_folder(self._data)
        make_private_folder(self.log.parent)
        self._lock.acquire()
        try:
            self._prepare_folder()
            self.launch()
            self._wait_until_ready(pause)
            self._prepare_database()
        except BaseException:
            self.stop()
            raise
        return self.address

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the server process without waiting for it: after `start`, when it has died."""
        assert self._identity is not None
        self._end_leftovers()
        # Safe only here: we hold the lock and nothing runs in the folder. Postgres itself would believe
        # the file as long as any process has that pid.
        (self.folder / "postmaster.pid").unlink(missing_ok=True)
        binary = postgres_files.programs() / "postgres"
        self.process = spawn(
            [*self._identity.prefix, str(binary), "-D", str(self.folder)],
            environment=postgres_files.plain_environment(os.environ),
            folder=self._data,
            output=self.log,
            when_parent_dies=signal.SIGINT,
        )
        return self.process

    def is_alive(self) -> bool:
        """A real connection and a statement, never a look at a pid."""
        if self._sockets is None:
            return False
        try:
            with self._connect(superuser=False) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.Error:
            return False

    def stop(self, *, pause: Pause = time.sleep) -> None:
        """Fast shutdown, ever firmer; then give the folder free. Does nothing when not started."""
        if not self._lock.held:
            return
        process = self.process
        if process is not None:
            for number, seconds in _LEFTOVER_STEPS:
                process.send_signal(number)
                if wait_for_end([process], seconds=seconds, pause=pause):
                    break
            signal_group(process.pid, signal.SIGKILL)
            self.process = None
        self._socket_folder.remove()
        self._sockets = None
        self._lock.release()

    def _prepare_folder(self) -> None:
        binaries = postgres_files.programs()
        self._identity = unprivileged_identity(program=binaries / "postgres", folder=self._data, environ=os.environ)
        self._end_leftovers()
        exists = (self.folder / "PG_VERSION").exists()
        self._passwords = postgres_files.passwords(self._data / "postgres-passwords.json", cluster_exists=exists)
        self._sockets = self._socket_folder.make()
        os.chown(self._sockets, self._identity.uid, self._identity.gid)
        if not exists:
            postgres_files.initialise(
                self.folder,
                binaries=binaries,
                identity=self._identity,
                password=self._passwords.superuser,
                scratch=self._sockets,
                durable=not self._for_tests,
            )
        postgres_files.check_version(self.folder)
        give_to(self._identity, self.folder)
        settings = self.folder / postgres_files.TUNING_FILE
        memory = postgres_files.memory_bytes()
        write_private(settings, postgres_files.tuning(memory=memory, sockets=self._sockets, for_tests=self._for_tests))
        os.chown(settings, self._identity.uid, self._identity.gid)

    def _end_leftovers(self) -> None:
        """End servers that a killed run left in the folder; the lock says that nobody else wants them."""
        folders = (self.folder, self.folder.with_name(f"{self.folder.name}.new"))
        living = end_leftovers(with_working_folder(name="postgres", folders=folders), _LEFTOVER_STEPS)
        if living:
            raise UnableToStart(f"A Postgres process (pid {living[0].pid}) of an earlier run does not end.")

    def _wait_until_ready(self, pause: Pause) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise UnableToStart(f"Postgres did not start; {self.log} ends in:\n{self._log_tail()}")
            try:
                with self._connect(superuser=True):
                    return
            except psycopg.OperationalError as error:
                if "password authentication failed" in str(error):
                    raise UnableToStart(
                        "The database refuses its password: put postgres-passwords.json back from a backup."
                    ) from None
            pause(0.05)
        raise UnableToStart(f"Postgres did not answer within {START_SECONDS:.0f} s; see {self.log}.")

    def _prepare_database(self) -> None:
        """Role, database and extension, each only where missing; the application's role stays ordinary."""
        assert self._passwords is not None
        right = sql.SQL("CREATEDB" if self._for_tests else "NOCREATEDB")
        names = {"role": sql.Identifier(ROLE), "database": sql.Identifier(DATABASE), "right": right}
        names["password"] = sql.Literal(self._passwords.application)
        with self._connect(superuser=True) as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone() is None:
                connection.execute(sql.SQL("CREATE ROLE {role} LOGIN").format(**names))
            alter = "ALTER ROLE {role} NOSUPERUSER NOCREATEROLE {right} PASSWORD {password}"
            connection.execute(sql.SQL(alter).format(**names))
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {database} OWNER {role}").format(**names))
        for database in (DATABASE, "template1") if self._for_tests else (DATABASE,):
            with self._connect(superuser=True, database=database) as connection:
                connection.execute("SET client_min_messages = warning")
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                connection.execute("ALTER EXTENSION vector UPDATE")  # after a newer wheel

    def _address(self, *, superuser: bool, database: str = "") -> DatabaseAddress:
        if self._sockets is None or self._passwords is None:
            raise UnableToStart("The embedded database has not been started.")
        secrets = self._passwords
        return DatabaseAddress(
            user=postgres_files.SUPERUSER if superuser else ROLE,
            password=secrets.superuser if superuser else secrets.application,
            database=database or ("postgres" if superuser else DATABASE),
            sockets=self._sockets,
        )

    def _connect(self, *, superuser: bool, database: str = "") -> psycopg.Connection[tuple[object, ...]]:
        address = self._address(superuser=superuser, database=database)
        return psycopg.connect(address.url, autocommit=True, connect_timeout=5)

    def _log_tail(self, lines: int = 5) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
