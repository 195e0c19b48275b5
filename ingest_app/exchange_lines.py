"""The lines of an exported collection, read strictly: whoever sends one may have written it by hand, or with intent."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from collections_app.exporting import FORMAT, NUMBER
from collections_app.models import Document
from core_app.api import MAX_DEPTH, is_deep, reject_unstorable
from core_app.errors import InvalidInput, TooLarge
from core_app.ports import MAX_DIMENSION, Vectors
from ingest_app.parsing.document import ParsedDocument
from ingest_app.submitting import MAX_SOURCE_BYTES

MAX_LINE_BYTES = 256 * 1024 * 1024
MAX_ID_BYTES = 1024
_CODE = "invalid_line"
#: As the store has it: pgvector adds up in single precision.
_LARGEST_SQUARED_LENGTH = float(np.finfo(np.float32).max) / 4

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Size = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word = Annotated[str, Meta(max_length=64)]
Moment = Annotated[datetime, Meta(tz=True)]


class _Line(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True, frozen=True):
    pass


class GivenFilter(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    name: str
    where: dict[str, Any]
    description: str = ""


class GivenModel(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What the vectors were made with; without a model they are of the collection's callers."""

    connection: Annotated[str, Meta(max_length=100)] | None = None
    model: str | None = None
    dimension: Annotated[int, Meta(ge=1, le=MAX_DIMENSION)]


class Header(_Line, tag="collection", frozen=True):
    format: int
    name: str = ""
    metadata: dict[str, Any] = {}
    distance: str = "cosine"
    language: Annotated[str, Meta(max_length=32)] = "english"
    chunking: dict[str, Any] = {}
    search: dict[str, Any] = {}
    k1: Annotated[float, Meta(ge=0, le=10)] | None = None
    b: Annotated[float, Meta(ge=0, le=1)] | None = None
    filters: list[GivenFilter] = []
    embedding: GivenModel | None = None
    vectors: bool = False


class GivenText(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    text: str
    outline: dict[str, Any]
    source_digest: Word
    given_title: str = ""


class DocumentLine(_Line, tag="document", frozen=True):
    source: str
    title: str = ""
    content_hash: Word = ""
    media_type: Annotated[str, Meta(max_length=255)] = ""
    size_bytes: Size = 0
    state: Word = Document.State.READY.value
    metadata: dict[str, Any] = {}
    cut_by: Word = ""
    submitted_at: Moment | None = None
    error: str = ""
    error_code: Word = ""
    extracted: GivenText | None = None


class ChunkLine(_Line, tag="chunk", frozen=True):
    id: str
    text: str
    source: str | None = None
    metadata: dict[str, Any] = {}
    section_path: list[str] = []
    page: Count | None = None
    start_offset: Count | None = None
    end_offset: Count | None = None
    parent_start: Count | None = None
    parent_end: Count | None = None
    ordinal: Count | None = None
    disabled_at: Moment | None = None
    edited_at: Moment | None = None
    original_text: str | None = None
    vector: str | None = None


class End(_Line, tag="end", frozen=True):
    documents: int
    chunks: int


AnyLine = Header | DocumentLine | ChunkLine | End
_decoder = msgspec.json.Decoder(AnyLine)


def lines_of(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines that are not empty, with their numbers. Raises TooLarge for one that has no end."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(f"Line {number} is longer than {MAX_LINE_BYTES} bytes: this is no exported collection.")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


class _Kind(msgspec.Struct):
    kind: str = ""


_kind_decoder = msgspec.json.Decoder(_Kind)


def count_lines(stream: IO[bytes]) -> tuple[int, int]:
    """How many documents and how many chunks a file has, roughly read: what is neither counts as a chunk."""
    stream.seek(0)
    documents = chunks = 0
    for _number, line in lines_of(stream):
        try:
            kind = _kind_decoder.decode(line).kind
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            kind = ""
        documents += kind == "document"
        chunks += kind not in ("collection", "document", "end")
    return documents, chunks


def read_line(line: bytes) -> AnyLine:
    """What a line says. Raises InvalidInput with a sentence that names the field."""
    try:
        found: AnyLine = _decoder.decode(line)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at ")
        place = where.strip("`").removeprefix("$").removeprefix(".").replace("key ", "")
        raise InvalidInput(f"{place or 'the line'}: {said.replace('`', '')}.", code=_CODE) from None
    except UnicodeDecodeError:
        raise InvalidInput("The line is not valid UTF-8.", code=_CODE) from None
    except RecursionError:
        raise InvalidInput("The line is nested too deeply.", code=_CODE) from None
    except msgspec.DecodeError as error:
        raise InvalidInput(f"The line is not valid JSON: {error}.", code=_CODE) from None
    plain = msgspec.to_builtins(found, builtin_types=(datetime,))
    if is_deep(plain):
        raise InvalidInput(f"The line is nested more than {MAX_DEPTH} levels deep.", code=_CODE)
    for key, value in plain.items():
        reject_unstorable(value, key)
    if isinstance(found, Header) and found.format != FORMAT:
        raise InvalidInput(
            f"format: this server reads {FORMAT}. Export it with the same version of Ragsite.", code=_CODE
        )
    if isinstance(found, DocumentLine):
        _check_document(found)
    if isinstance(found, ChunkLine):
        _check_chunk(found)
    return found


def vector_of(line: ChunkLine, *, dimension: int) -> Vectors:
    """The vector of a chunk that has one. Raises InvalidInput."""
    try:
        data = base64.b64decode(line.vector or "", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("vector: is not base64.", code=_CODE) from None
    if len(data) != 4 * dimension:
        raise InvalidInput(
            f"vector: has {len(data) / 4:g} numbers of 4 bytes where the first line says {dimension}.", code=_CODE
        )
    vector = np.frombuffer(data, NUMBER).astype(np.float32)
    if not is_storable(vector):
        raise InvalidInput("vector: has numbers that are not finite, or too large to compare.", code=_CODE)
    return vector


def is_storable(vector: Vectors) -> bool:
    """Whether a vector of shape (dimension,) is finite and short enough to be compared."""
    wide = vector.astype(np.float64)
    # Not a number fails the comparison, too.
    return float(wide @ wide) < _LARGEST_SQUARED_LENGTH


def _check_document(line: DocumentLine) -> None:
    if not line.source or len(line.source.encode("utf-8")) > MAX_SOURCE_BYTES:
        raise InvalidInput(f"source: use 1 to {MAX_SOURCE_BYTES} bytes.", code=_CODE)
    if line.state not in Document.State.values:
        raise InvalidInput(f"state: must be one of {', '.join(Document.State.values)}.", code=_CODE)
    if line.extracted is None:
        return
    text, outline = line.extracted.text, line.extracted.outline
    try:
        parsed = msgspec.convert({**outline, "text": text}, ParsedDocument)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"extracted.outline: {str(error).replace('`', '')}.", code=_CODE) from None
    starts = [*(heading.offset for heading in parsed.headings), *(page.offset for page in parsed.pages)]
    ends = [(rows.start, rows.end) for rows in parsed.rows]
    if not all(0 <= start <= len(text) for start in starts) or not all(0 <= s <= e <= len(text) for s, e in ends):
        raise InvalidInput("extracted.outline: an offset is outside of the text.", code=_CODE)


def _check_chunk(line: ChunkLine) -> None:
    if not line.id or len(line.id.encode("utf-8")) > MAX_ID_BYTES:
        raise InvalidInput(f"id: use 1 to {MAX_ID_BYTES} bytes.", code=_CODE)
    for name, start, end, least in (
        ("start_offset, end_offset", line.start_offset, line.end_offset, 0),
        ("parent_start, parent_end", line.parent_start, line.parent_end, 1),
    ):
        if (start is None) != (end is None) or (start is not None and end is not None and end - start < least):
            raise InvalidInput(f"{name}: send both or none, the end after the start.", code=_CODE)
    placed = (line.parent_start, line.start_offset, line.ordinal, line.original_text)
    if line.source is None and any(value is not None for value in placed):
        raise InvalidInput("source: a chunk that has a place in a document needs the document's.", code=_CODE)
