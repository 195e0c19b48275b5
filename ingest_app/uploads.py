"""Multipart uploads: every part of a form is either understood or refused, and files keep their names.

Django's own parser skips a part whose name is not UTF-8 without a word, refuses the whole form for one
long name, and cuts names down to what is safe on a disk. Here a name is never a path, only the label
under which a document is found again: two `README.md` of different folders must stay two documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartParser,
    MultipartPart,
    ParserLimitReached,
    content_disposition_unquote,
    parse_options_header,
)
from rest_framework.parsers import DataAndFiles, MultiPartParser

from core_app.errors import InvalidInput, TooLarge

#: Parts that are no files: a form has few fields, and some clients send empty ones.
MAX_FIELDS = 100
#: Larger files wait on disk instead of in memory.
SPOOL_BYTES = 256 * 1024
MAX_HEADER_BYTES = 16 * 1024

_PARAMETER = r"""\s*;\s*[\w*-]+=(?:"(?:[^"\\]|\\.)*"|[^\s";]+)"""
_DISPOSITION = re.compile(rf"form-data(?:{_PARAMETER})+\s*;?\s*", re.IGNORECASE)
_PLAIN_ENCODINGS = {"7bit", "8bit", "binary"}

if TYPE_CHECKING:
    Files = MultiValueDict[str, UploadedFile[bytes]]
else:
    Files = MultiValueDict  # without its stubs Django's class takes no arguments


class UploadParser(MultiPartParser):
    """Parses a form and its files; `sent_name` tells how a file was called."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> DataAndFiles[Any, Any]:
        return DataAndFiles(*parse_form(stream, media_type or ""))


def parse_form(stream: IO[bytes], content_type: str) -> tuple[QueryDict, Files]:
    """The fields and files of a form.

    Raises InvalidInput for what cannot be understood wholly, TooLarge, TooManyFilesSent, and
    RequestDataTooBig for a field.
    """
    _, options = parse_options_header(content_type)
    body = _Body(stream, boundary=options.get("boundary", ""))
    most_parts = settings.DATA_UPLOAD_MAX_NUMBER_FILES + MAX_FIELDS
    data = QueryDict(mutable=True)
    files: Files = MultiValueDict()
    try:
        parts = MultipartParser(
            body,
            body.boundary,
            # Any byte is a character of this charset; `_text` finds out what was meant.
            charset="latin1",
            headersize_limit=MAX_HEADER_BYTES,
            part_limit=most_parts,
            spool_limit=SPOOL_BYTES,
            memory_limit=SPOOL_BYTES * most_parts,
        )
        for part in parts:
            _take(part, data, files)
    except ParserLimitReached:
        raise TooLarge("The form has too many parts, or a part's headers are too long. Send fewer at a time.") from None
    except MultipartError as error:
        raise _malformed(str(error).rstrip(".")) from None
    body.check_end()
    return data, files


def sent_name(upload: UploadedFile[bytes]) -> str:
    """The file's name in the request, as it was."""
    return str(getattr(upload, "name_as_sent", upload.name or ""))


class _Body:
    """A form's bytes. What stands before the first boundary or after the last one is no comment but a lost part."""

    def __init__(self, stream: IO[bytes], *, boundary: str) -> None:
        self.boundary = boundary
        self._stream = stream
        self._began = False
        #: The last bytes that were read: enough to hold the end, wherever a read cut it.
        self._tail = b""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if not self._began and data:
            self._began = True
            if not data.lstrip(b"\r\n").startswith(b"--" + self.boundary.encode("latin-1", "replace")):
                raise _malformed("it does not begin with its boundary")
        if data:
            self._tail = self._tail[-len(self.boundary) - 8 :] + data
        return data

    def check_end(self) -> None:
        """Raise InvalidInput when something follows the last boundary."""
        rest = self._tail + self._stream.read(1024)
        _, _, after = rest.partition(b"--" + self.boundary.encode("latin-1", "replace") + b"--")
        if after.strip():
            raise _malformed("something follows its end")


def _take(part: MultipartPart, data: QueryDict, files: Files) -> None:
    _check_headers(part)
    name = _text(part.name)
    if part.filename is None:
        if part.size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        try:
            data.appendlist(name, part.raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput(f"The field '{name}' is not UTF-8. Send it in UTF-8.", code="malformed_form") from None
    elif part.filename or part.size:  # else the empty file field of a browser's form
        if sum(len(group) for _, group in files.lists()) >= settings.DATA_UPLOAD_MAX_NUMBER_FILES:
            raise TooManyFilesSent
        upload = UploadedFile(part.file, name="upload", content_type=part.content_type, size=part.size)
        vars(upload)["name_as_sent"] = _text(_whole_name(part))
        files.appendlist(name, upload)


def _check_headers(part: MultipartPart) -> None:
    named = [name for name, _ in part.headerlist]
    disposition = part.headers["Content-Disposition"]
    parameters = [key.lower() for key in re.findall(r";\s*([\w*-]+)=", _without_quoted(disposition))]
    if named.count("Content-Disposition") > 1 or len(set(parameters)) < len(parameters):
        raise _malformed("a part is named twice")
    if not _DISPOSITION.fullmatch(disposition):
        raise _malformed("the name of a part is not quoted as it should be")
    if part.headers.get("Content-Transfer-Encoding", "binary").strip().lower() not in _PLAIN_ENCODINGS:
        raise _malformed("a part has a transfer encoding; send the bytes as they are")


def _without_quoted(disposition: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', disposition)


def _whole_name(part: MultipartPart) -> str:
    """The file's name with its folders; the library's own reading takes Windows paths for a browser's mistake."""
    disposition = part.headers["Content-Disposition"]
    _, options = parse_options_header(disposition, unquote=lambda value, _: content_disposition_unquote(value))
    return str(options.get("filename", ""))


def _text(name: str) -> str:
    """What the bytes of a name meant: UTF-8, or the Latin-1 of old clients."""
    try:
        return name.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return name


def _malformed(reason: str) -> InvalidInput:
    return InvalidInput(f"The form could not be read: {reason}. Send files as curl -F does.", code="malformed_form")
