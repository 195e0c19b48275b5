"""Office files are ZIP archives: opened here only after their declared sizes were found bearable."""

from __future__ import annotations

import io
import zipfile

from ingest_app.parsing.errors import UnableToParse

MAX_ENTRIES = 10_000
MAX_UNCOMPRESSED = 512 * 1024 * 1024
# Real documents stay below a ratio of 30 (a book of 870 pages: 13); small parts may repeat themselves.
MAX_RATIO = 150
_RATIO_FREE = 16 * 1024 * 1024
_CENTRAL_ENTRY = b"PK\x01\x02"


def open_archive(content: bytes) -> zipfile.ZipFile:
    """The archive, with nothing decompressed yet.

    `zipfile` never reads more of an entry than its declared size, so declared sizes are enough to
    judge by. Raises UnableToParse: `corrupt_file`, `encrypted`, `too_large`.
    """
    # The central directory is read whole when an archive is opened, so it is counted before.
    if content.count(_CENTRAL_ENTRY) > MAX_ENTRIES:
        raise _bomb()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise UnableToParse(
            "The file is damaged or was cut off: save it again in its program and upload it once more.",
            "corrupt_file",
        ) from error
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > MAX_UNCOMPRESSED or any(
        entry.file_size > max(_RATIO_FREE, MAX_RATIO * entry.compress_size) for entry in entries
    ):
        raise _bomb()
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise UnableToParse("The file is encrypted: remove its password and upload it again.", "encrypted")
    return archive


def _bomb() -> UnableToParse:
    return UnableToParse(
        "The file unpacks to far more than its size: save it again without embedded data, or split it.",
        "too_large",
    )
