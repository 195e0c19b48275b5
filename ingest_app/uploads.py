"""Multipart uploads: every part of the form is either understood or refused, and files keep their names.

Django's own parser skips a part whose name is not UTF-8 without a word, refuses the whole form for one
long name, and cuts names down to what is safe on a disk. Here a name is never a path, only the label
under which a document is found again: two `README.md` of different folders must stay two documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartParser,
    MultipartPart,
    content_disposition_unquote,
    parse_options_header,
)
from rest_framework.exceptions import ParseError
from rest_framework.parsers import DataAndFiles, MultiPartParser

#: Parts that are no files: a form has few fields, and some clients send empty ones.
MAX_FIELDS = 100
#: Larger files wait on disk instead of in memory.
SPOOL_BYTES = 256 * 1024
MAX_HEADER_BYTES = 16 * 1024


class UploadParser(MultiPartParser):
    """Parses a form and its files; `sent_name` tells how a file was called."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> DataAndFiles[Any, Any]:
        """Raises ParseError for a broken form, TooManyFilesSent, and RequestDataTooBig for a field."""
        _, options = parse_options_header(media_type or "")
        most_parts = settings.DATA_UPLOAD_MAX_NUMBER_FILES + MAX_FIELDS
        data = QueryDict(mutable=True)
        files: MultiValueDict[str, UploadedFile[bytes]] = MultiValueDict()
        try:
            parts = MultipartParser(
                stream,
                options.get("boundary", ""),
                # Any byte is a character of this charset; `_text` finds out what was meant.
                charset="latin1",
                headersize_limit=MAX_HEADER_BYTES,
                part_limit=most_parts,
                spool_limit=SPOOL_BYTES,
                memory_limit=SPOOL_BYTES * most_parts,
            )
            for part in parts:
                _take(part, data, files)
        except MultipartError as error:
            raise ParseError(f"The form is not valid multipart data: {error}.") from None
        return DataAndFiles(data, files)


def sent_name(upload: UploadedFile[bytes]) -> str:
    """The file's name in the request, as it was."""
    return str(getattr(upload, "name_as_sent", upload.name or ""))


def _take(part: MultipartPart, data: QueryDict, files: MultiValueDict[str, UploadedFile[bytes]]) -> None:
    name = _text(part.name)
    if part.filename is None:
        if part.size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        data.appendlist(name, part.raw.decode("utf-8", "replace"))
    elif part.filename or part.size:  # else the empty file field of a browser's form
        if sum(len(group) for _, group in files.lists()) >= settings.DATA_UPLOAD_MAX_NUMBER_FILES:
            raise TooManyFilesSent
        upload = UploadedFile(part.file, name="upload", content_type=part.content_type, size=part.size)
        vars(upload)["name_as_sent"] = _text(_whole_name(part))
        files.appendlist(name, upload)


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
