"""What the parser process and its parent say to each other: JSON headers and raw bytes, lengths first.

Only plain data crosses the pipe: a parser taken over by a hostile file must not reach into the parent.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from typing import Any, BinaryIO

from ingest_app.parsing.document import Heading, PageStart, ParsedDocument
from ingest_app.parsing.errors import UnableToParse

_LENGTH = struct.Struct(">Q")
# Well above any upload and any document of 20M characters; a bound all the same.
MAX_FRAME_BYTES = 1024 * 1024 * 1024


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """One length-prefixed frame."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None when the other side has closed or talks nonsense."""
    prefix = stream.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(prefix)
    if length > MAX_FRAME_BYTES:
        return None
    payload = stream.read(length)
    return payload if len(payload) == length else None


def encode_document(document: ParsedDocument) -> bytes:
    """An answer that carries a document."""
    return json.dumps({"document": asdict(document)}, ensure_ascii=False).encode()


def encode_error(error: UnableToParse) -> bytes:
    """An answer that carries a failure."""
    return json.dumps({"error": {"detail": error.detail, "code": error.code}}).encode()


def decode_answer(payload: bytes) -> ParsedDocument:
    """The document in an answer. Raises the UnableToParse that it carries instead, or ValueError."""
    answer = json.loads(payload)
    if "error" in answer:
        raise UnableToParse(str(answer["error"]["detail"]), str(answer["error"]["code"]))
    try:
        return _document(answer["document"])
    except (KeyError, TypeError) as error:
        raise ValueError("the answer holds no document") from error


def _document(fields: dict[str, Any]) -> ParsedDocument:
    return ParsedDocument(
        text=str(fields["text"]),
        media_type=str(fields["media_type"]),
        title=str(fields["title"]),
        headings=tuple(Heading(**heading) for heading in fields["headings"]),
        pages=tuple(PageStart(**page) for page in fields["pages"]),
    )
