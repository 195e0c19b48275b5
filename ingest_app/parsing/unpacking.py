"""The files in a ZIP archive of documents, under names that lead nowhere but into the archive."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.decoding import clean
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.member_names import encoding_of_names

MAX_MEMBERS = 5_000
MAX_NAME = 400
_UTF8_NAME = 0x800
_UNIX = 3
# What file managers and Office leave behind. Names that start with a dot are left out as well.
_CLUTTER = {"__macosx", "thumbs.db", "desktop.ini"}
_LOCK_FILE = "~$"
_TO_SPACES = str.maketrans("\t\n\v", "   ")


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file of an archive. Without content `detail` says to the user why, `code` to programs."""

    name: str
    content: bytes | None
    detail: str = ""
    code: str = ""


def members(*, content: bytes, max_member_bytes: int) -> Iterator[Member]:
    """The files in an archive in its order, without folders, links and what programs leave behind.

    Archives in it are files like any other. No two files have the same name. A file that is damaged or larger than
    `max_member_bytes` comes without content, and the others go on. Raises UnableToParse for the archive as a whole.
    """
    with open_archive(content) as archive:
        entries = [entry for entry in archive.infolist() if _is_file(entry)]
        named = [(name, entry) for name, entry in zip(_names(entries), entries, strict=True) if _is_wanted(name)]
        if len(named) > MAX_MEMBERS:
            raise UnableToParse(
                f"The archive holds more than {MAX_MEMBERS:,} files: split it and upload the parts.", "too_large"
            )
        told_apart = _ToldApart()
        for name, entry in named:
            yield _member(archive, entry, name=told_apart.name(name), max_bytes=max_member_bytes)


def safe_name(name: str) -> str:
    """A relative path with `/` between folders, without `..`, drive letters and control characters; or nothing."""
    parts = [part.strip() for part in clean(name).translate(_TO_SPACES).replace("\\", "/").split("/")]
    while parts and (not parts[0].strip(".") or parts[0][1:2] == ":"):
        parts[0] = parts[0].strip(".")[2:].strip()
        if not parts[0]:
            del parts[0]
    return "/".join(part for part in parts if part.strip("."))


def _names(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The entries' names, made safe. Those that do not say so are in the one encoding that fits them all."""
    raw = [b"" if entry.flag_bits & _UTF8_NAME else entry.orig_filename.encode("cp437") for entry in entries]
    encoding = encoding_of_names(raw)
    return [
        _shortened(safe_name(undeclared.decode(encoding, "replace") if undeclared else entry.orig_filename))
        for undeclared, entry in zip(raw, entries, strict=True)
    ]


def _shortened(path: str) -> str:
    """At most as many bytes as `MAX_NAME`; the end with the extension stays."""
    raw = path.encode()
    return path if len(raw) <= MAX_NAME else safe_name("…" + raw[3 - MAX_NAME :].decode("utf-8", "ignore"))


def _is_file(entry: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == _UNIX else 0
    return not entry.orig_filename.endswith(("/", "\\")) and kind in (0, stat.S_IFREG)


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    is_clutter = any(part.startswith(".") or part.lower() in _CLUTTER for part in parts)
    return bool(name) and not is_clutter and not parts[-1].startswith(_LOCK_FILE)


class _ToldApart:
    """Gives names once each: `a.md`, `a (2).md`, `a (3).md`."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def name(self, name: str) -> str:
        folder, slash, last = name.rpartition("/")
        stem, dot, extension = last.rpartition(".") if "." in last else (last, "", "")
        found, number = name, self._taken.get(name, 1)
        while found in self._taken:
            number += 1
            found = f"{folder}{slash}{stem} ({number}){dot}{extension}"
        self._taken[name], self._taken[found] = number, self._taken.get(found, 1)
        return found


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *, name: str, max_bytes: int) -> Member:
    if entry.file_size > max_bytes:
        return Member(
            name=name,
            content=None,
            detail=f"The file is larger than {max_bytes:,} bytes: split it and upload the parts.",
            code="too_large",
        )
    try:
        with archive.open(entry) as file:
            return Member(name=name, content=file.read(max_bytes))
    except NotImplementedError:
        return Member(
            name=name,
            content=None,
            detail="The file is packed in a way that is not supported: upload it without the archive.",
            code="unsupported_type",
        )
    except MemoryError:
        return Member(
            name=name,
            content=None,
            detail="Unpacking the file needs more memory than is allowed: upload it without the archive.",
            code="too_large",
        )
    except Exception:  # noqa: BLE001 - whatever zlib, bz2, lzma and zipfile raise for damaged data
        return Member(
            name=name,
            content=None,
            detail="The file is damaged within its archive: pack it again, or upload it without the archive.",
            code="corrupt_file",
        )
