"""The body of an add, read without keeping its numbers in memory as Python objects.

Only the frame is taken apart at once; each document is decoded on its own, and its embedding becomes a row
of one array. 200 MB of JSON so cost the bytes themselves and a fifth of that for the vectors. The numbers, which
are most of a body, are decoded when they are asked for: other work can begin with the texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import msgspec
import numpy as np
from django.conf import settings
from rest_framework.parsers import BaseParser

from collections_app.adding import MAX_CHUNKS, NewChunk
from core_app.api import MALFORMED, MAX_DEPTH, NUMBER_TOO_LARGE, is_deep, parse_json, reject_unstorable
from core_app.errors import InvalidInput, TooLarge
from core_app.ports import Vectors

DOCUMENTS_REQUIRED = "Documents array is required"
#: Larger bodies are not read a second time to find the place of a mistake.
_SEARCHED_BYTES = 16 * 1024 * 1024
_TOO_LARGE = "holds a number that is too large"
EMBEDDINGS_REQUIRED = "All documents must include pre-computed embeddings"


@dataclass(frozen=True, kw_only=True)
class GivenDocuments:
    """What a body holds: chunks, and of each the JSON of its embedding, which keeps the whole body in memory."""

    chunks: Sequence[NewChunk]
    numbers: list[msgspec.Raw]

    def take_embeddings(self) -> Vectors:
        """An array of shape (chunks, dimension), once. Raises InvalidInput naming the place of a mistake."""
        embeddings = _embeddings(self.numbers)
        self.numbers.clear()
        return embeddings


class _Frame(msgspec.Struct, forbid_unknown_fields=True):
    documents: list[msgspec.Raw]


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    id: str | None = None
    metadata: dict[str, Any] | None = None
    embedding: msgspec.Raw = msgspec.Raw(b"null")


_frame = msgspec.json.Decoder(_Frame)
_document = msgspec.json.Decoder(_Document)
_numbers = msgspec.json.Decoder(list[float])


class DocumentsParser(BaseParser):
    """A JSON body of documents with their embeddings (A4)."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, GivenDocuments]:
        """`{"given": ...}`: the framework expects something like a form."""
        limit = settings.RAGSITE.ingestion.max_request_bytes
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge("The request is larger than this server accepts. Send it in parts.")
        return {"given": read_documents(body)}


def read_documents(body: bytes) -> GivenDocuments:
    """The documents of a JSON body, embeddings unread. Raises InvalidInput naming the place of a mistake."""
    parts = _parts(body)
    if not parts:
        raise InvalidInput(DOCUMENTS_REQUIRED, code="documents_required")
    if len(parts) > MAX_CHUNKS:
        raise InvalidInput(f"Send at most {MAX_CHUNKS} documents in one request.", code="too_many_documents")
    documents = [_decoded(_document, part, f"documents[{index}]") for index, part in enumerate(parts)]
    if any(bytes(document.embedding) == b"null" for document in documents):
        raise InvalidInput(EMBEDDINGS_REQUIRED, code="embeddings_required")
    return GivenDocuments(
        chunks=[_chunk(document, f"documents[{index}]") for index, document in enumerate(documents)],
        numbers=[document.embedding for document in documents],
    )


def _embeddings(numbers: Sequence[msgspec.Raw]) -> Vectors:
    embeddings: Vectors | None = None
    for index, given in enumerate(numbers):
        place = f"documents[{index}].embedding"
        vector = _vector(given, place)
        if embeddings is None:
            embeddings = np.empty((len(numbers), len(vector)), np.float32)
        if len(vector) != embeddings.shape[1]:
            raise InvalidInput(
                f"{place}: has {len(vector)} numbers where those before it have {embeddings.shape[1]}. "
                "All embeddings of a request must have the same dimension.",
                code="dimension_mismatch",
            )
        with np.errstate(over="ignore"):  # what is too large for a float32 is infinite then, and refused as such
            embeddings[index] = vector
    assert embeddings is not None, "a body without documents was refused"
    for index in np.flatnonzero(~np.isfinite(embeddings).all(axis=1))[:1]:
        raise InvalidInput(f"documents[{index}].embedding: {_TOO_LARGE}.", code="invalid_embedding")
    return embeddings


def _parts(body: bytes) -> list[msgspec.Raw]:
    try:
        return _frame.decode(body).documents
    except msgspec.ValidationError as error:
        message = str(error)
        if "`documents`" in message or message.endswith("`$.documents`"):
            raise InvalidInput(DOCUMENTS_REQUIRED, code="documents_required") from None
        raise InvalidInput(_sentence(message, "the body"), code="invalid") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if ("escape" in str(error) or "surrogate" in str(error)) and len(body) <= _SEARCHED_BYTES:
            # Perhaps a lone surrogate, which JSON allows and UTF-8 does not: the caller is told where it is.
            reject_unstorable(parse_json(body.decode("utf-8", "replace")), "$")
        _malformed(error)


def _decoded(decoder: msgspec.json.Decoder[_Document], part: msgspec.Raw, place: str) -> _Document:
    try:
        return decoder.decode(part)
    except msgspec.ValidationError as error:
        code = NUMBER_TOO_LARGE if str(error).startswith("Number out of range") else "invalid"
        raise InvalidInput(_sentence(str(error), place), code=code) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _malformed(error)


def _vector(given: msgspec.Raw, place: str) -> list[float]:
    try:
        vector = _numbers.decode(given)
    except msgspec.ValidationError as error:
        detail = _TOO_LARGE if "range" in str(error) else "must be an array of numbers"
        raise InvalidInput(f"{place}: {detail}.", code="invalid_embedding") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _malformed(error)
    if not vector:
        raise InvalidInput(f"{place}: must be an array of numbers, at least one.", code="invalid_embedding")
    return vector


def _chunk(document: _Document, place: str) -> NewChunk:
    metadata = document.metadata or {}
    if is_deep(metadata):
        raise InvalidInput(f"{place}.metadata: is nested more than {MAX_DEPTH} levels deep.", code="invalid")
    reject_unstorable(metadata, f"{place}.metadata")
    reject_unstorable(document.text, f"{place}.text")
    if document.id is not None:
        reject_unstorable(document.id, f"{place}.id")
    return NewChunk(external_id=document.id, text=document.text, metadata=metadata)


def _sentence(message: str, place: str) -> str:
    """The library's message with our place: "Expected `str`, got `int` - at `$.text`"."""
    said, _, where = message.partition(" - at ")
    unknown = re.search(r"unknown field `(.*)`", said)
    missing = re.search(r"missing required field `(.*)`", said)
    if unknown:
        return f"{place}: unknown field '{unknown[1]}'. Known fields: id, text, metadata, embedding."
    if missing:
        return f"{place}.{missing[1]}: is required."
    return f"{place}{where.strip('`').removeprefix('$')}: {said.replace('`', '')}."


def _malformed(error: Exception) -> NoReturn:
    if isinstance(error, RecursionError):
        raise InvalidInput("The body is nested too deeply.", code=MALFORMED) from None
    if isinstance(error, UnicodeDecodeError):
        raise InvalidInput("The body is not valid UTF-8. Send JSON in UTF-8.", code=MALFORMED) from None
    raise InvalidInput(f"The body is not valid JSON: {error}.", code=MALFORMED) from None
