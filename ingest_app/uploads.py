"""Multipart uploads whose files keep the names they were sent with, folders included.

Django cuts names down to what is safe on a disk. Here a name is never a path, only the label under
which a document is found again: two `README.md` of different folders must stay two documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.http.multipartparser import MultiPartParser as FormParser
from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import DataAndFiles, MultiPartParser

FIELD = "file"


class _NamingParser(FormParser):
    """Notes each file's name and lets Django use a harmless one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names: list[str] = []

    def sanitize_file_name(self, file_name: str) -> str:
        self.names.append(file_name)
        return "upload"


class UploadParser(MultiPartParser):
    """Parses a form and its files; `sent_name` tells how a file was called."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> DataAndFiles[Any, Any]:
        request = (parser_context or {})["request"]
        meta = {**request.META, "CONTENT_TYPE": media_type}
        try:
            parser = _NamingParser(meta, stream, request.upload_handlers, request.encoding or "utf-8")
            data, files = parser.parse()
        except MultiPartParserError as error:
            raise ParseError(f"The form is not valid multipart data: {error}.") from None
        # In the order of the request, as long as no other field brings files: the view refuses those.
        for upload, name in zip(files.getlist(FIELD), parser.names, strict=False):
            vars(upload)["name_as_sent"] = name
        return DataAndFiles(data, files)


def sent_name(upload: UploadedFile[bytes]) -> str:
    """The file's name in the request, as it was."""
    return str(getattr(upload, "name_as_sent", upload.name or ""))
