"""Places that a collection is brought in step with: what is asked of one, and what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core_app.errors import InvalidInput, NotAllowed
from core_app.wiring import app_settings
from ingest_app.models import Connector
from ingest_app.origins.fetching import FetchLimits
from ingest_app.origins.folders import files_below
from ingest_app.origins.found import FoundFile, Unreadable
from ingest_app.origins.git import GitLimits, cloned, revision
from ingest_app.origins.targets import target_of
from ingest_app.origins.urls import UrlReader
from ingest_app.submitting import clean_text

Kind = Connector.Kind
#: What stands in a file in place of what Git LFS keeps elsewhere; the format says how long it may be.
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LONGEST_POINTER = 1024


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder, a git repository or a list of URLs. `prefix` comes before the names of its files."""

    kind: str
    #: The folder's path, the repository's URL, or what names the list.
    location: str
    branch: str = ""
    urls: Sequence[str] = ()
    prefix: str = ""

    def settled(self) -> Place:
        """The same, written in the one way: what is checked is what is read, and one place has one origin.

        In a folder's path links are followed. Raises Unreadable for a repository whose URL is none.
        """
        if self.kind == Kind.GIT:
            return replace(self, location=target_of(self.location).url)
        return replace(self, location=str(_real(self.location))) if self.kind == Kind.FOLDER else self

    @property
    def origin(self) -> str:
        """Marks the documents that came from here."""
        if self.kind == Kind.FOLDER:
            return clean_text(f"folder:{_real(self.location).as_posix()}")
        at_branch = f"#{self.branch}" if self.branch else ""
        return clean_text(f"{self.kind}:{self.location}{at_branch}")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A place that is being read. `revision` is the commit of a repository, else empty."""

    files: Iterator[FoundFile]
    revision: str = ""


def place_of(connector: Connector) -> Place:
    """What a connector reads."""
    return Place(
        kind=connector.kind,
        location=connector.location,
        branch=connector.branch,
        urls=connector.urls,
        prefix=connector.prefix,
    )


def check_allowed(place: Place) -> None:
    """Raise NotAllowed for a folder outside of those that the operator named: not all files are meant to be found."""
    if place.kind != Kind.FOLDER:
        return
    allowed = [_real(folder) for folder in app_settings().ingestion.sync_folders]
    is_absolute = Path(place.location).is_absolute()
    if not is_absolute or not any(_real(place.location).is_relative_to(root) for root in allowed):
        raise NotAllowed(
            "Connectors may not read this folder. The operator can add it, or one above it, to Ingestion:SyncFolders.",
            code="folder_not_allowed",
        )


@contextmanager
def opened(place: Place, *, check: Callable[[], None]) -> Iterator[Opened]:
    """Read a place. `check` is called now and then and may raise. Raises InvalidInput or Unreadable where it cannot be.

    A file that cannot be had raises Unreadable when it is read. The place is `settled`.
    """
    section = app_settings().ingestion
    if place.kind == Kind.FOLDER:
        folder = Path(place.location)
        if not _is_folder(folder):
            raise InvalidInput("There is no such folder on the server. Is it mounted?", code="no_folder")
        yield Opened(files=_named(place, files_below(folder, max_bytes=section.max_file_bytes)))
    elif place.kind == Kind.URLS:
        fetching = FetchLimits(
            max_bytes=section.max_file_bytes,
            timeout_seconds=section.fetch_timeout_seconds,
            allowed_networks=section.allowed_private_networks,
        )
        yield Opened(files=_named(place, UrlReader(place.urls, fetching).files(check)))
    else:
        cloning = GitLimits(
            max_bytes=section.max_clone_bytes,
            timeout_seconds=section.clone_timeout_seconds,
            allowed_networks=section.allowed_private_networks,
        )
        with cloned(url=place.location, branch=place.branch or None, limits=cloning, check=check) as folder:
            files = _named(place, files_below(_real(str(folder)), max_bytes=section.max_file_bytes))
            yield Opened(files=files, revision=revision(folder))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _real(folder: str) -> Path:
    """Where links lead. Unlike Path.resolve it takes a loop of them for a path as any."""
    return Path(os.path.realpath(folder))


def _named(place: Place, files: Iterator[FoundFile]) -> Iterator[FoundFile]:
    """The files under the names of their documents. What Git LFS keeps elsewhere cannot be read."""

    def content(file: FoundFile) -> bytes:
        found = file.read()
        if len(found) <= _LONGEST_POINTER and found.startswith(_LFS_POINTER):
            raise Unreadable("It is kept in Git LFS, which is not read. Sync a folder that holds it.", code="git_lfs")
        return found

    for file in files:
        yield FoundFile(name=clean_text(place.prefix + file.name), read=partial(content, file))
