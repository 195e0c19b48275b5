"""One cell of the matrix: files are sent, a process is killed at a stage, and what came of it is compared."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
import psycopg
import redis

from benchmarks.kills import client, inventory, stages
from benchmarks.kills.corpus import File, parts
from benchmarks.kills.inventory import Inventory, Verdict
from benchmarks.kills.server import Server, wait_for

VICTIMS = ("worker", "web", "broker", "postgres")
STAGES = (stages.PARSING, stages.EMBEDDING, stages.WRITING)
FLUSHED = "flushed"
#: The promise: a job ends so soon after the restart.
PROMISED_SECONDS = 120.0
#: So long the harness waits for a job that has broken the promise, to tell by how much.
PATIENCE_SECONDS = 300.0
RESTART_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Who is killed, and when."""

    victim: str
    stage: str

    def __str__(self) -> str:
        return f"{self.victim}/{self.stage}"


EVERY = (
    *(Cell(victim=victim, stage=stage) for victim in VICTIMS for stage in STAGES),
    Cell(victim="broker", stage=FLUSHED),
)


@dataclass(kw_only=True)
class Outcome:
    """What a cell came to."""

    cell: Cell
    #: What was observed at the moment of the kill; empty where the stage was missed.
    seen: str = ""
    #: Seconds from the kill to the new process, and from there to the end of the last job.
    restarted: float = 0.0
    ended: float | None = None
    #: How often the file was tried that was tried most.
    attempts: int = 0
    #: How often the whole server had to be started again: it gives up on what dies too often.
    revivals: int = 0
    verdict: Verdict = field(default_factory=Verdict)

    #: Whether the kill came at another stage, or not at all.
    missed: bool = False

    @property
    def is_good(self) -> bool:
        return bool(self.seen) and self._is_in_order

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether the stage was missed, and nothing came to light that another run would hide."""
        return self.missed and (self.ended is None or self._is_in_order)

    @property
    def _is_in_order(self) -> bool:
        return self.ended is not None and self.ended <= PROMISED_SECONDS and self.verdict.is_good

    def row(self) -> str:
        """A line of the table."""
        ended = "never" if self.ended is None else f"{self.ended:.1f}"
        result = "good" if self.is_good else "FAILED: " + "; ".join(self.verdict.wrong or ["see the columns"])
        result += f"; the server was started again {self.revivals} times" if self.revivals else ""
        counts = f"{len(self.verdict.lost)} | {self.verdict.duplicated} | {self.attempts}"
        cells = (self.cell.victim, self.cell.stage, self.seen or "STAGE MISSED", f"{self.restarted:.1f}", ended)
        return f"| {' | '.join(cells)} | {counts} | {result} |"


HEAD = (
    "| victim | stage | seen at the kill | restarted after, s | job ended after, s | lost | duplicated | tries | |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def undisturbed(server: Server, files: Sequence[File]) -> tuple[Inventory, float]:
    """What the files come to when nobody is killed, and how long that takes. Raises RuntimeError."""
    client.wait_until_at_rest(server)
    began = time.monotonic()
    ids = client.send(server, "undisturbed", [files])
    rows = client.wait_until_ended(server, ids, seconds=PATIENCE_SECONDS)
    seconds = time.monotonic() - began
    found = inventory.read(server.database_url(), "undisturbed")
    verdict = inventory.compare(found, found)
    inventory.count_canaries(verdict, client.canary_hits(server, "undisturbed", files))
    if not verdict.is_good or [row.state for row in rows] != ["succeeded"] or len(found.documents) != len(files):
        raise RuntimeError(f"The undisturbed run is not in order: {rows}, {verdict}")
    return found, seconds


def run(server: Server, cell: Cell, *, name: str, files: Sequence[File], expected: Inventory) -> Outcome:
    """Send the files to a new collection of that name, kill, wait, and compare."""
    outcome = Outcome(cell=cell)
    ids: list[str] = []
    try:
        client.wait_until_at_rest(server)
        starts = server.starts
        ids += client.send(server, name, parts(files) if cell.stage == FLUSHED else [files])
        restarted = _flush(server, outcome, name, ids) if cell.stage == FLUSHED else _kill(server, outcome, name)
        rows = client.wait_until_ended(server, ids, seconds=PATIENCE_SECONDS)
        outcome.ended = time.monotonic() - restarted
        outcome.revivals = server.starts - starts
        _compare(server, outcome, name, files, expected, rows)
        outcome.missed = not outcome.seen
    except (stages.StageMissed, TimeoutError, httpx.HTTPError, psycopg.Error) as error:
        outcome.missed = isinstance(error, stages.StageMissed)
        outcome.verdict.wrong.append(f"{type(error).__name__}: {error}")
        client.cancel(server, ids)
    return outcome


def _compare(
    server: Server,
    outcome: Outcome,
    name: str,
    files: Sequence[File],
    expected: Inventory,
    rows: Sequence[client.JobRow],
) -> None:
    outcome.attempts = max(row.attempts for row in rows)
    outcome.verdict = inventory.compare(inventory.read(server.database_url(), name), expected)
    inventory.count_canaries(outcome.verdict, client.canary_hits(server, name, files))
    outcome.verdict.wrong += [f"a job is {row.state}" for row in rows if row.state != "succeeded"]
    if kept := sum(row.payloads for row in rows):
        outcome.verdict.wrong.append(f"the bytes of {kept} files were not dropped")


def _kill(server: Server, outcome: Outcome, name: str) -> float:
    """Kill the victim at the stage, and wait for its restart; when that was."""
    cell = outcome.cell
    old = server.pid(cell.victim)
    with stages.reached(server, name, cell.stage) as sight:
        server.kill(cell.victim)
        killed = time.monotonic()
        if confirmed := _confirmed(server, cell, name, sight):
            outcome.seen = f"{sight.told(killed)}; {confirmed}"

    def restarted() -> float | None:
        return time.monotonic() if server.revive() or server.restarted(cell.victim, old) else None

    at = wait_for(restarted, seconds=RESTART_SECONDS, what=f"a new {cell.victim}", pause=0.05)
    outcome.restarted = at - killed
    return at


def _confirmed(server: Server, cell: Cell, name: str, sight: stages.Sight) -> str:
    """What shows after the kill that the stage had not passed when it came; empty where nothing does."""
    if cell.victim == "postgres" and cell.stage == stages.WRITING:
        return "kept there by a lock until the crash"
    if cell.victim != "worker":
        return "still there after it" if cell.stage in stages.stages_of(server.stacks("worker")) else ""
    url = server.database_url()
    if cell.stage == stages.WRITING:
        return "its transaction open after it" if stages.waits(url) else ""
    return "no more after it" if stages.progress(url, name).chunks == sight.progress.chunks else ""


def _flush(server: Server, outcome: Outcome, name: str, ids: Sequence[str]) -> float:
    """Empty the broker while one job runs and the others wait; when that was."""
    with redis.Redis(unix_socket_path=server.broker_socket()) as broker:
        with stages.reached(server, name, stages.PARSING) as sight:
            states = [row.state for row in client.job_rows(server.database_url(), ids)]
            before = broker.llen("default")
            broker.flushall()
            at = time.monotonic()
            after = broker.llen("default")
        if states == ["running", "queued", "queued"] and before:
            outcome.seen = f"{sight.told(at)}; jobs {', '.join(states)}; {before} messages before, {after} after"
    return at
