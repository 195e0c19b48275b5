"""The documents and chunks of an exported collection beside those of the collection they go to: compared, written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from collections_app.context import indexed_text
from collections_app.exporting import CHUNK_FIELDS, DOCUMENT_FIELDS, TEXT_FIELDS
from collections_app.models import Chunk, Collection, Document
from collections_app.reading import vectors_of
from collections_app.receiving import Received, end, put_chunks, put_document, take_out
from core_app.errors import InvalidInput
from core_app.ports import Vectors
from ingest_app.exchange_lines import ChunkLine, DocumentLine, vector_of
from ingest_app.exchange_target import Plan, Way, embedded, model_of

#: Documents whose leftovers are looked for at a time.
SLICE = 200
SHOWN_REFUSALS = 20
#: No file that was exported has so many; another is read no further.
MOST_REFUSALS = 1000


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A line that cannot be stored."""

    line: int
    reason: str


@dataclass(kw_only=True)
class Tally:
    new: int = 0
    replaced: int = 0
    unchanged: int = 0

    @property
    def total(self) -> int:
        return self.new + self.replaced + self.unchanged


@dataclass(kw_only=True)
class Report:
    """What an import would do, or did."""

    is_new: bool
    way: Way
    documents: Tally = field(default_factory=Tally)
    chunks: Tally = field(default_factory=Tally)
    #: Chunks of documents of the file that the file does not have.
    removed: int = 0
    #: Chunks whose text the server embeds.
    embedded: int = 0
    refused: int = 0
    #: The first of them.
    refusals: list[Refused] = field(default_factory=list)

    def refuse(self, number: int, reason: str) -> None:
        """Note a line that cannot be stored. Raises InvalidInput where they have no end."""
        self.refused += 1
        if len(self.refusals) < SHOWN_REFUSALS:
            self.refusals.append(Refused(line=number, reason=reason))
        if self.refused > MOST_REFUSALS:
            first = self.refusals[0]
            raise InvalidInput(
                f"More than {MOST_REFUSALS:,} lines cannot be stored. The first is line {first.line}: {first.reason}",
                code="lines_refused",
                errors=self.errors,
            )

    @property
    def errors(self) -> dict[str, list[str]]:
        """The first refusals, by line."""
        return {f"line {one.line}": [one.reason] for one in self.refusals}

    @property
    def changes(self) -> bool:
        """Whether anything is another than before."""
        both = (self.documents, self.chunks)
        return bool(self.is_new or self.removed or any(tally.new or tally.replaced for tally in both))


@dataclass(frozen=True, kw_only=True)
class _Known:
    """A document of the file; `key` where it is stored already, or by now."""

    key: int | None
    content_hash: str
    title: str
    is_retitled: bool
    is_new: bool
    length: int | None


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """A chunk that is new or another than the one that is stored."""

    number: int
    line: ChunkLine
    stored: Chunk | None
    vector: Vectors | None


class Arriving:
    """One pass over a file; with `writes` it stores what it finds, under the collection's write lock.

    `ready` keeps vectors of texts that were embedded in an earlier pass, by the id of their chunk: a pass that does not
    write puts them there.
    """

    def __init__(
        self, *, collection: Collection | None, plan: Plan, writes: bool, ready: dict[str, Vectors] | None = None
    ) -> None:
        self.collection = collection
        self.report = Report(is_new=collection is None, way=plan.way)
        self._plan = plan
        self._writes = writes
        self._ready = ready
        self._known: dict[str, _Known] = {}
        self._ids: set[str] = set()
        #: The hashes that documents have in the file, by key: of all that are stored by now ...
        self._hashes: dict[int, str] = {}
        #: ... and of those of which something changed.
        self._changed: dict[int, str] = {}

    def take(self, lines: Sequence[tuple[int, DocumentLine | ChunkLine]]) -> None:
        """The next lines of the file."""
        self._take_documents([(number, line) for number, line in lines if isinstance(line, DocumentLine)])
        self._take_chunks([(number, line) for number, line in lines if isinstance(line, ChunkLine)])

    def slices(self) -> Iterator[Sequence[int]]:
        """Once nothing follows: documents, by key, that may have chunks which the file has not, for `clear`."""
        keys = sorted(known.key for known in self._known.values() if known.key is not None and not known.is_new)
        return (keys[start : start + SLICE] for start in range(0, len(keys), SLICE))

    def clear(self, keys: Sequence[int]) -> bool:
        """Remove the chunks that these documents have and the file has not; whether there were any."""
        rows = Chunk.objects.filter(document__in=keys)
        bare = rows.only("external_id", "position", "document_id").iterator()
        left = [row for row in bare if row.external_id not in self._ids]
        self.report.removed += len(left)
        if left and self._writes and self.collection is not None:
            whole = self._whole(left)
            take_out(collection=self.collection, chunks=left, documents=whole)
            end(hashes={key: self._hashes[key] for key in whole})
        return bool(left)

    def close(self) -> Report:
        """Everything is stored, and what is to be removed is removed: documents get their counts and hashes."""
        if self._writes:
            end(hashes=self._changed)
        return self.report

    def end(self) -> Report:
        """Nothing follows: all of that at once."""
        for keys in self.slices():
            self.clear(keys)
        return self.close()

    def _take_documents(self, lines: Sequence[tuple[int, DocumentLine]]) -> None:
        found: dict[str, Document] = {}
        if self.collection is not None and lines:
            rows = Document.objects.filter(collection=self.collection, source__in=[line.source for _, line in lines])
            found = {row.source: row for row in rows.select_related("extracted")}
        for number, line in lines:
            if line.source in self._known:
                self.report.refuse(number, "source: a line above has it already.")
            else:
                self._take_document(line, found.get(line.source))

    def _take_document(self, line: DocumentLine, stored: Document | None) -> None:
        values = {name: getattr(line, name) for name in DOCUMENT_FIELDS}
        text = None if line.extracted is None else msgspec.to_builtins(line.extracted)
        is_same = stored is not None and _same_document(stored, values, text)
        _count(self.report.documents, is_new=stored is None, is_same=is_same)
        # Before it is written, which changes the row.
        is_retitled = stored is not None and stored.title != line.title
        row = stored
        if self._writes and not is_same and self.collection is not None:
            row = put_document(collection=self.collection, values=values, text=text, replaces=stored)
            self._changed[row.pk] = line.content_hash
        if row is not None:
            self._hashes[row.pk] = line.content_hash
        self._known[line.source] = _Known(
            key=row.pk if row else None,
            content_hash=line.content_hash,
            title=line.title,
            is_retitled=is_retitled,
            is_new=stored is None,
            length=None if line.extracted is None else len(line.extracted.text),
        )

    def _take_chunks(self, lines: Sequence[tuple[int, ChunkLine]]) -> None:
        found: dict[str, Chunk] = {}
        vectors: Mapping[int, Vectors] = {}
        if self.collection is not None and lines:
            rows = Chunk.objects.filter(collection=self.collection, external_id__in=[line.id for _, line in lines])
            found = {row.external_id: row for row in rows.select_related("document")}
            vectors = vectors_of(collection=self.collection, chunk_ids=[row.pk for row in found.values()])
        wanted = []
        for number, line in lines:
            try:
                self._check(line)
                vector = self._vector(line)
            except InvalidInput as error:
                self.report.refuse(number, error.detail)
                continue
            self._ids.add(line.id)
            stored = found.get(line.id)
            is_same = stored is not None and self._is_same(line, vector, stored, vectors.get(stored.pk))
            _count(self.report.chunks, is_new=stored is None, is_same=is_same)
            if not is_same:
                wanted.append(_Wanted(number=number, line=line, stored=stored, vector=vector))
        self.report.embedded += sum(one.vector is None for one in wanted)
        self._store(wanted)

    def _check(self, line: ChunkLine) -> None:
        if line.id in self._ids:
            raise InvalidInput("id: a line above has it already.")
        if line.source is None:
            return
        known = self._known.get(line.source)
        if known is None:
            raise InvalidInput("source: no line above is a document of this name.")
        ends = max(line.end_offset or 0, line.parent_end or 0)
        if known.length is not None and ends > known.length:
            raise InvalidInput("end_offset, parent_end: are outside of the document's text.")

    def _vector(self, line: ChunkLine) -> Vectors | None:
        """The vector to store as it is; None for one that the server has to make. Raises InvalidInput."""
        if self._plan.way is Way.EMBEDDED:
            return None
        assert self._plan.model is not None, "vectors that are stored are of a model"
        if line.vector is not None:
            return vector_of(line, dimension=self._plan.model.dimension)
        if not self._plan.fills:
            raise InvalidInput("vector: is missing, and this server cannot make one of this model.")
        return None

    def _is_same(self, line: ChunkLine, vector: Vectors | None, stored: Chunk, kept: Vectors | None) -> bool:
        source = stored.document and stored.document.source
        if (
            kept is None
            or source != line.source
            or any(getattr(stored, name) != getattr(line, name) for name in CHUNK_FIELDS if name != "metadata")
        ):
            return False
        if source is not None and self._known[source].is_retitled:
            return False  # its words and its vector are of the title, too
        return _same_json(stored.metadata, line.metadata) and (vector is None or np.array_equal(vector, kept))

    def _store(self, wanted: Sequence[_Wanted]) -> None:
        missing = [one for one in wanted if one.vector is None and one.line.id not in (self._ready or {})]
        made: dict[str, Vectors] = dict(self._ready or {})
        if missing and (self._writes or self._ready is not None):
            texts = [indexed_text(self._draft(one.line)) for one in missing]
            made |= {one.line.id: vector for one, vector in zip(missing, embedded(texts, self.collection), strict=True)}
        if not self._writes:
            if self._ready is not None:
                self._ready.update(made)
            return
        if not wanted:
            return
        assert self.collection is not None, "what is written goes to a collection"
        replaced = [one.stored for one in wanted if one.stored is not None]
        put_chunks(
            collection=self.collection,
            model=self._plan.model or model_of(self.collection),
            chunks=[self._received(one, made) for one in wanted],
            documents=self._whole(replaced),
        )
        keys = {self._known[one.line.source].key for one in wanted if one.line.source is not None}
        self._note_changed({key for key in keys if key is not None} | self._whole(replaced))

    def _received(self, one: _Wanted, made: Mapping[str, Vectors]) -> Received:
        return Received(
            external_id=one.line.id,
            document=self._document(one.line),
            values={name: getattr(one.line, name) for name in CHUNK_FIELDS},
            vector=made[one.line.id] if one.vector is None else one.vector,
            replaces=one.stored,
        )

    def _draft(self, line: ChunkLine) -> Chunk:
        return Chunk(document=self._document(line), section_path=line.section_path, text=line.text)

    def _document(self, line: ChunkLine) -> Document | None:
        """As much of it as its chunks need."""
        if line.source is None:
            return None
        known = self._known[line.source]
        return Document(pk=known.key, source=line.source, title=known.title)

    def _whole(self, chunks: Sequence[Chunk]) -> frozenset[int]:
        """The documents of these stored chunks that the file has, by key."""
        documents = {chunk.document_id for chunk in chunks if chunk.document_id is not None}
        return frozenset(key for key in documents if key in self._hashes)

    def _note_changed(self, keys: Set[int]) -> None:
        """These documents are counted anew at the end, also by whoever goes on after a crash: it finds no hash."""
        fresh = {key: self._hashes[key] for key in keys if key not in self._changed}
        if fresh:
            Document.objects.filter(pk__in=fresh).update(content_hash="")
            self._changed |= fresh


def _same_document(stored: Document, values: Mapping[str, Any], text: Mapping[str, Any] | None) -> bool:
    if any(getattr(stored, name) != value for name, value in values.items() if name != "metadata"):
        return False
    if not _same_json(stored.metadata, values["metadata"]):
        return False
    kept = getattr(stored, "extracted", None)
    if kept is None or text is None:
        return kept is None and text is None
    return all(_same_json(getattr(kept, name), text[name]) for name in TEXT_FIELDS)


def _same_json(one: Any, other: Any) -> bool:
    """As JSON: true is not 1."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    encode = msgspec.json.Encoder(order="deterministic").encode
    return encode(one) == encode(other)


def _count(tally: Tally, *, is_new: bool, is_same: bool) -> None:
    if is_new:
        tally.new += 1
    elif is_same:
        tally.unchanged += 1
    else:
        tally.replaced += 1
