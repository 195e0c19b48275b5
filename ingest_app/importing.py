"""Reading an exported collection into a new or an existing one (docs/export.md).

The same pass over the file says what would happen and does it. A file with a line that cannot be stored is refused as a
whole. A document comes with all of its chunks: those that the collection has of it and the file has not are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection
from collections_app.selectors import get_collection, get_held
from collections_app.services import lock_collection, touch
from core_app.errors import InvalidInput, NotFound, TooLarge
from core_app.names import NEW_RULE, is_new_name
from core_app.ports import Vectors
from ingest_app.exchange_lines import ChunkLine, DocumentLine, End, Header, lines_of, read_line
from ingest_app.exchange_rows import Arriving, Report
from ingest_app.exchange_target import check_header, check_name, make_collection, plan_for
from ingest_app.import_log import record_import

#: As many as one add may bring: the import is one transaction, and other writes wait for its end.
MOST_CHUNKS = 10_000
MOST_DOCUMENTS = 10_000
#: Lines that are looked up and written at a time, and about how many bytes of them.
LINES_AT_A_TIME = 500
BYTES_AT_A_TIME = 16 * 1024 * 1024

Lines = list[tuple[int, DocumentLine | ChunkLine]]


def _pass(_report: Report) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is called while a large file is imported. Each may raise, which ends the import there."""

    #: After each batch that was checked, before anything is written.
    checked: Callable[[Report], None] = _pass
    #: At the end of the transaction that stores a batch, and of the last one.
    storing: Callable[[Report], None] = _pass
    ending: Callable[[Report], None] = _pass
    #: After each batch that was stored.
    stored: Callable[[Report], None] = _pass


def check_import(*, name: str, stream: IO[bytes], bounded: bool = True) -> Report:
    """What importing this file would do; nothing is written.

    Raises InvalidInput for a file that is no exported collection, Conflict for one whose vectors cannot be had here,
    and, where `bounded`, TooLarge for more than `MOST_CHUNKS` or `MOST_DOCUMENTS`.
    """
    return _check(_named(name), stream, bounded=bounded, ready=None)


def import_collection(*, name: str, stream: IO[bytes], may_create: bool = True) -> Report:
    """Import a file of at most `MOST_CHUNKS` chunks: all of it or nothing.

    Texts are embedded before anything is locked. Raises as `check_import`, InvalidInput with the first refusals, and
    NotFound for a collection that is not there unless it `may_create` one.
    """
    found = _named(name) if may_create else get_held(name=name)
    ready: dict[str, Vectors] = {}
    checked = _check(found, stream, bounded=True, ready=ready)
    _refuse(checked)
    with transaction.atomic():
        reading = _Reading(stream)
        target = lock_collection(collection_id=_made(found, name, reading.header).pk)
        arriving = Arriving(collection=target, plan=plan_for(reading.header, target), writes=True, ready=ready)
        arriving.report.is_new = checked.is_new
        for lines in reading.batches(refuse=arriving.report.refuse):
            arriving.take(lines)
        report = arriving.end()
        _refuse(report)  # of what was changed meanwhile
        if report.changes:
            touch(collection=target)
            record("collection.imported", target, after=_counts(report))
    return report


def import_in_batches(*, name: str, stream: IO[bytes], watch: Watch) -> Report:
    """Import a file of any size, each batch in a transaction of its own.

    Where `watch` ends it, what is stored by then stays, and importing the file again goes on from there. Raises as
    `import_collection`, but TooLarge.
    """
    found = _named(name)
    checked = _check(found, stream, bounded=False, ready=None, told=watch.checked)
    _refuse(checked)
    with transaction.atomic():
        target = _made(found, name, _Reading(stream).header)
    committed: dict[str, int] = {}

    def stored(report: Report) -> None:
        committed.update(_counts(report))
        watch.stored(report)

    def ending(report: Report) -> None:
        record_import(collection_id=target.pk, counts=_counts(report))
        watch.ending(report)

    try:
        return _store(target, stream, replace(watch, stored=stored, ending=ending), is_new=checked.is_new)
    except BaseException:  # Ctrl-C, too
        record_import(collection_id=target.pk, counts=committed)
        raise


def import_into(*, collection: Collection, stream: IO[bytes], watch: Watch) -> Report:
    """The same into a collection that is there, whatever it is called by now. Raises CollectionGone, too.

    What it changes is recorded by the caller.
    """
    _refuse(_check(collection, stream, bounded=False, ready=None, told=watch.checked))
    return _store(collection, stream, watch, is_new=False)


def _store(target: Collection, stream: IO[bytes], watch: Watch, *, is_new: bool) -> Report:
    reading = _Reading(stream)
    arriving = Arriving(collection=target, plan=plan_for(reading.header, target), writes=True)
    arriving.report.is_new = is_new
    for lines in reading.batches(refuse=arriving.report.refuse):
        with transaction.atomic():
            arriving.collection = lock_collection(collection_id=target.pk)
            arriving.take(lines)
            touch(collection=arriving.collection)
            watch.storing(arriving.report)
        watch.stored(arriving.report)
    for keys in arriving.slices():
        with transaction.atomic():
            arriving.collection = lock_collection(collection_id=target.pk)
            if arriving.clear(keys):
                touch(collection=arriving.collection)
            watch.storing(arriving.report)
        watch.stored(arriving.report)
    with transaction.atomic():
        arriving.collection = lock_collection(collection_id=target.pk)
        arriving.close()
        if arriving.report.changes:
            touch(collection=arriving.collection)
        watch.ending(arriving.report)
    return arriving.report


def begin_import(*, name: str, stream: IO[bytes]) -> tuple[Collection, bool]:
    """The collection that a large file goes to, and whether it was made now. Needs a transaction.

    Raises InvalidInput for what is no exported collection, and Conflict for one whose vectors cannot be had here.
    """
    target, header = _named(name), _Reading(stream).header
    check_header(header, is_new=target is None)
    plan_for(header, target)
    return target or make_collection(name=name, header=header), target is None


def _check(
    target: Collection | None,
    stream: IO[bytes],
    *,
    bounded: bool,
    ready: dict[str, Vectors] | None,
    told: Callable[[Report], None] = _pass,
) -> Report:
    reading = _Reading(stream)
    check_header(reading.header, is_new=target is None)
    arriving = Arriving(collection=target, plan=plan_for(reading.header, target), writes=False, ready=ready)
    for lines in reading.batches(refuse=arriving.report.refuse):
        arriving.take(lines)
        if bounded:
            _check_size(arriving.report)
        told(arriving.report)
    return arriving.end()


def _named(name: str) -> Collection | None:
    """The collection that a request means; from here on it is known by its key, for names can go to others."""
    check_name(name)
    try:
        return get_collection(name=name)
    except NotFound:
        if not is_new_name(name):
            raise InvalidInput(NEW_RULE, code="invalid_name") from None
        return None


def _made(found: Collection | None, name: str, header: Header) -> Collection:
    """The collection that was found, or one of this name, made now where there is none. Needs a transaction."""
    return found or _named(name) or make_collection(name=name, header=header)


def _counts(report: Report) -> dict[str, int]:
    return {
        "documents": report.documents.new + report.documents.replaced,
        "chunks": report.chunks.new + report.chunks.replaced,
        "removed": report.removed,
    }


def _check_size(report: Report) -> None:
    for what, tally, most in (("chunks", report.chunks, MOST_CHUNKS), ("documents", report.documents, MOST_DOCUMENTS)):
        if tally.total > most:
            raise TooLarge(
                f"The file has more than {most:,} {what}, the most that are imported at once.",
                code="too_large_to_import",
            )


def _refuse(report: Report) -> None:
    if report.refusals:
        first = report.refusals[0]
        raise InvalidInput(
            f"Nothing was imported. Lines that cannot be stored: {report.refused:,}. The first is line {first.line}: "
            f"{first.reason}",
            code="lines_refused",
            errors=report.errors,
        )


@dataclass
class _Reading:
    """A file from its beginning, whose first line is its header. Raises InvalidInput where it is none."""

    stream: IO[bytes]
    header: Header = field(init=False)
    _documents: int = field(init=False, default=0)
    _chunks: int = field(init=False, default=0)
    _unread: int = field(init=False, default=0)
    _end: tuple[int, End] = field(init=False)

    def __post_init__(self) -> None:
        self.stream.seek(0)
        self._lines = lines_of(self.stream)
        number, line = next(self._lines, (1, b""))
        try:
            first = read_line(line)
        except InvalidInput as error:
            raise InvalidInput(f"Line {number}: {error.detail} {_NO_EXPORT}", code="no_export") from None
        if not isinstance(first, Header):
            raise InvalidInput(f"Line {number}: {_NO_EXPORT}", code="no_export")
        self.header = first

    def batches(self, *, refuse: Callable[[int, str], None]) -> Iterator[Lines]:
        """The lines between the first and the last; `refuse` is told of those that cannot be read.

        It is told of a last line, too, that counts other lines than came. Raises InvalidInput for a file that was cut
        off.
        """
        while True:
            batch, is_end = self._batch(refuse)
            yield batch
            if is_end:
                self._compare(refuse)
                return

    def _batch(self, refuse: Callable[[int, str], None]) -> tuple[Lines, bool]:
        batch: Lines = []
        size = number = 0
        for number, line in islice(self._lines, LINES_AT_A_TIME):
            try:
                found = read_line(line)
                if isinstance(found, Header):
                    raise InvalidInput("kind: only the first line is a collection.", code="invalid_line")
            except InvalidInput as error:
                refuse(number, error.detail)
                self._unread += 1
                continue
            if isinstance(found, End):
                self._check_last(number, found)
                return batch, True
            self._documents += isinstance(found, DocumentLine)
            self._chunks += isinstance(found, ChunkLine)
            batch.append((number, found))
            size += len(line)
            if size > BYTES_AT_A_TIME:
                return batch, False
        if number == 0:
            raise InvalidInput(_CUT_OFF, code="cut_off")
        return batch, False

    def _check_last(self, number: int, end: End) -> None:
        if next(self._lines, None) is not None:
            raise InvalidInput(f"Line {number}: something follows the end.", code="invalid_line")
        self._end = (number, end)

    def _compare(self, refuse: Callable[[int, str], None]) -> None:
        """Refuse a last line that counts other lines than came."""
        number, end = self._end
        # Of lines that cannot be read nobody knows what they are; they are refused by themselves.
        if not self._unread and (self._documents, self._chunks) != (end.documents, end.chunks):
            refuse(
                number,
                f"The last line counts {end.documents:,} documents and {end.chunks:,} chunks, but {self._documents:,} "
                f"documents and {self._chunks:,} chunks came: lines are missing or were added. "
                "Export the collection again, or correct the last line if you changed the file yourself.",
            )


_NO_EXPORT = "This is no exported collection: its first line is not a collection's."
_CUT_OFF = "The file ends without its last line: it was cut off. Export the collection again."
