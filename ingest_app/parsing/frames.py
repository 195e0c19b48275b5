"""What the parser process and its parent say to each other: JSON headers and raw bytes, lengths first.

Only plain data crosses the pipe: a parser taken over by a hostile file must not reach into the parent.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from ingest_app.parsing.archives import MAX_UNCOMPRESSED
from ingest_app.parsing.document import ParsedDocument, as_fields, from_fields
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.unpacking import MAX_MEMBERS, Member, safe_name

_LENGTH = struct.Struct(">Q")
# Well above any upload and any document of 20M characters; a bound all the same.
MAX_FRAME_BYTES = 1024 * 1024 * 1024


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """One length-prefixed frame."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO, *, most: int = MAX_FRAME_BYTES) -> bytes | None:
    """The next frame, or None when the other side has closed or talks nonsense."""
    prefix = stream.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(prefix)
    if length > most:
        return None
    payload = stream.read(length)
    return payload if len(payload) == length else None


def encode_request(*, max_member_bytes: int | None = None) -> bytes:
    """What is wanted of a file: its document or, with a bound for each, the files in it."""
    return json.dumps({"max_member_bytes": max_member_bytes}).encode()


def decode_request(payload: bytes) -> int | None:
    """The bound of `encode_request`; None where the document is wanted."""
    bound: int | None = json.loads(payload)["max_member_bytes"]
    return bound


def encode_document(document: ParsedDocument) -> bytes:
    """An answer that carries a document."""
    return json.dumps({"document": as_fields(document)}, ensure_ascii=False).encode()


def encode_error(error: UnableToParse) -> bytes:
    """An answer that carries a failure."""
    return json.dumps({"error": {"detail": error.detail, "code": error.code}}).encode()


def write_member(stream: BinaryIO, member: Member) -> None:
    """One file of an archive: what is known of it, then its bytes."""
    known = {"name": member.name, "detail": member.detail, "code": member.code, "is_there": member.content is not None}
    write_frame(stream, json.dumps({"member": known}).encode())
    write_frame(stream, member.content or b"")


def write_end(stream: BinaryIO) -> None:
    """After the last file of an archive."""
    write_frame(stream, json.dumps({"end": True}).encode())


def read_document(stream: BinaryIO) -> ParsedDocument:
    """The document in an answer.

    Raises the UnableToParse that it carries instead, EOFError where none comes, ValueError for anything else.
    """
    answer = _read_answer(stream)
    try:
        return from_fields(answer["document"])
    except (KeyError, TypeError) as error:
        raise ValueError("the answer holds no document") from error


def read_members(stream: BinaryIO) -> list[Member]:
    """The files of an archive. Raises as `read_document` does, also for more than an archive may hold."""
    found: list[Member] = []
    room = MAX_UNCOMPRESSED
    while "end" not in (answer := _read_answer(stream)):
        content = read_frame(stream, most=room)
        if content is None:
            raise EOFError
        room -= len(content)
        found.append(_member(answer, content))
        if len(found) > MAX_MEMBERS:
            raise ValueError("the answer holds too many files")
    return found


def _member(answer: dict[str, Any], content: bytes) -> Member:
    try:
        known = answer["member"]
        name = str(known["name"])
        detail, code = str(known["detail"]), str(known["code"])
        is_there = bool(known["is_there"])
    except (KeyError, TypeError) as error:
        raise ValueError("the answer holds no file") from error
    if not name or name != safe_name(name):
        raise ValueError("the answer holds a file that leads out of its archive")
    return Member(name=name, content=content if is_there else None, detail=detail, code=code)


def _read_answer(stream: BinaryIO) -> dict[str, Any]:
    payload = read_frame(stream)
    if payload is None:
        raise EOFError
    answer = json.loads(payload)
    if not isinstance(answer, dict):
        raise ValueError("the answer is none")
    if (error := answer.get("error")) is not None:
        try:
            raise UnableToParse(str(error["detail"]), str(error["code"]))
        except (KeyError, TypeError):
            raise ValueError("the answer holds no reason") from None
    return answer
