"""Which stage a job is at, seen and not guessed: by the stack of its worker, and by who waits for which lock."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from types import MappingProxyType

import psycopg

from benchmarks.kills.server import Server

PARSING, EMBEDDING, WRITING = "parsing", "embedding", "writing"
#: What the worker's stack shows at each stage: all of these, a file and a function in it.
FRAMES: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        PARSING: (("ingest_app/parsing/sandbox.py", "_exchange"),),
        EMBEDDING: (
            ("ingest_app/embedding.py", "embed_drafts"),
            ("inference_app/sentence_transformer.py", "embed_documents"),
        ),
        # Document, chunks and vectors are written then, and none of it is committed.
        WRITING: (("ingest_app/indexing.py", "write_draft"), ("stores_app/words.py", "add_postings")),
    }
)
#: So long a stage may take to come; a worker that was killed before loads its model first.
REACHED_SECONDS = 90.0

_LOCK = "LOCK TABLE stores_postingblock IN SHARE MODE"
_WAITING = """
SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE relation = 'stores_postingblock'::regclass AND NOT granted AND wait_event_type = 'Lock'
"""
_PROGRESS = """
SELECT
    (SELECT count(*) FROM collections_document JOIN collections_collection AS c ON c.id = collection_id
     WHERE c.name = %(name)s),
    (SELECT count(*) FROM collections_chunk JOIN collections_collection AS c ON c.id = collection_id
     WHERE c.name = %(name)s),
    (SELECT count(*) FROM ingest_item JOIN ingest_job ON ingest_job.id = job_id
     JOIN collections_collection AS c ON c.id = collection_id
     WHERE c.name = %(name)s AND ingest_item.state = 'running')
"""


class StageMissed(Exception):
    """The stage was not seen at the moment that counts."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What is committed of a collection, and how many files are in hand."""

    documents: int
    chunks: int
    in_hand: int


@dataclass(frozen=True, kw_only=True)
class Sight:
    """The worker at a stage, and what the database said just before."""

    stage: str
    at: float
    progress: Progress

    def told(self, killed: float) -> str:
        """What was seen, and how long before the kill."""
        function = FRAMES[self.stage][-1][1]
        gap = (killed - self.at) * 1000
        return f"`{function}` {gap:.0f} ms before with {self.progress.chunks} chunks committed"


def stages_of(stacks: str) -> set[str]:
    """The stages that a dump of stacks shows: while a thread embeds, another reads or writes."""
    return {
        stage
        for stage, frames in FRAMES.items()
        if all(re.search(rf'{re.escape(file)}", line \d+ in {function}\n', stacks) for file, function in frames)
    }


def progress(url: str, name: str) -> Progress:
    with psycopg.connect(url) as database:
        row = database.execute(_PROGRESS, {"name": name}).fetchone()
    assert row is not None
    return Progress(documents=row[0], chunks=row[1], in_hand=row[2])


@contextmanager
def reached(server: Server, name: str, stage: str) -> Iterator[Sight]:
    """Wait until something is committed and the worker is at the stage with what comes next.

    For the writing the worker is kept in it: until the end of the block somebody holds the table that it writes to
    last. It would wait for ten seconds (VectorDatabase:LockTimeoutSeconds). Raises StageMissed.
    """
    url = server.database_url()
    deadline = time.monotonic() + REACHED_SECONDS
    while not ((done := progress(url, name)).documents and done.in_hand):
        _give_up_after(deadline, stage)
    with held_back(url) if stage == WRITING else nullcontext():
        deadline = time.monotonic() + REACHED_SECONDS
        while True:
            done = progress(url, name)
            if (stage != WRITING or waits(url)) and stage in stages_of(server.stacks("worker")):
                yield Sight(stage=stage, at=time.monotonic(), progress=done)
                return
            _give_up_after(deadline, stage)


def waits(url: str) -> bool:
    """Whether somebody waits for the table that `held_back` holds."""
    with psycopg.connect(url) as database:
        row = database.execute(_WAITING).fetchone()
    return row is not None and row[0] > 0


@contextmanager
def held_back(url: str) -> Iterator[None]:
    """Nobody adds to the word index until the end of the block; a database that dies lets go as well."""
    holder = psycopg.connect(url)
    try:
        holder.execute(_LOCK)
        yield
    finally:
        with suppress(psycopg.Error):
            holder.rollback()
        holder.close()


def _give_up_after(deadline: float, stage: str) -> None:
    if time.monotonic() > deadline:
        raise StageMissed(f"{stage} was not seen in time")
    time.sleep(0.05)
