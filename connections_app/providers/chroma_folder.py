"""A Chroma that runs in this process on a folder, which other processes of this server may have open, too.

Chroma keeps its graphs in memory and does not notice what another process writes. So each call holds a lock of the
folder, and opens the folder anew where somebody else has written since.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from connections_app.providers.chroma_engine import GRAPH, Found, Matches, Records, distance_of
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound, Unavailable
from core_app.ports import DistanceName

if find_spec("chromadb") is None:  # importing it takes a second, so that is left to the first use
    raise ModuleNotFoundError("chromadb")

logger = logging.getLogger(__name__)

_DATABASE = "chroma.sqlite3"
_LOCK = "ragsite.lock"


class ChromaFolder:
    """`chroma_engine.Engine` on a folder. The calls of one process take turns."""

    def __init__(self, path: Path) -> None:
        self._shared = _Shared.of(path)

    def close(self) -> None:
        self._shared.release()

    def version(self) -> str:
        import chromadb  # noqa: PLC0415 - takes a second

        return chromadb.__version__

    def is_sparse(self) -> bool:
        """The one in a process has no index of words."""
        return False

    def collections(self) -> Sequence[Found]:
        with self._shared.reading() as api:
            return [_found(one) for one in api.list_collections()]

    def collection(self, name: str) -> Found:
        with self._shared.reading() as api:
            return _found(api.get_collection(name))

    def create(self, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> Found:
        with self._shared.writing() as api:
            if any(one.name == name for one in api.list_collections()):
                raise Conflict("There is a collection of this name in the Chroma folder.", code="collection_exists")
            configuration = {"hnsw": {"space": distance, **GRAPH}}
            return _found(api.create_collection(name, metadata=dict(metadata) or None, configuration=configuration))

    def rename(self, found: Found, name: str) -> None:
        with self._shared.writing() as api:
            api._modify(found.id, new_name=name)

    def set_metadata(self, found: Found, metadata: Mapping[str, Any]) -> None:
        with self._shared.writing() as api:
            api._modify(found.id, new_metadata=dict(metadata))

    def drop(self, name: str) -> None:
        with self._shared.writing() as api:
            api.delete_collection(name)

    def count(self, found: Found) -> int:
        with self._shared.reading() as api:
            return int(api._count(found.id))

    def get(
        self,
        found: Found,
        *,
        include: Sequence[str],
        ids: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Records:
        with self._shared.reading() as api:
            answer = api._get(
                found.id,
                ids=None if ids is None else list(ids),
                where=where,
                limit=limit,
                offset=offset,
                include=list(include),
            )
        parts = {key: [] if answer[key] is None else answer[key] for key in ("metadatas", "documents", "embeddings")}
        return Records(ids=answer["ids"], **parts)

    def upsert(
        self,
        found: Found,
        *,
        ids: Sequence[str],
        embeddings: Sequence[Sequence[float]],
        metadatas: Sequence[Mapping[str, Any] | None],
        documents: Sequence[str],
    ) -> None:
        with self._shared.writing() as api:
            api._upsert(
                collection_id=found.id,
                ids=list(ids),
                embeddings=list(embeddings),
                metadatas=list(metadatas),
                documents=list(documents),
            )

    def delete(self, found: Found, ids: Sequence[str]) -> None:
        with self._shared.writing() as api:
            api._delete(found.id, ids=list(ids))

    def query(
        self, found: Found, *, queries: Sequence[Sequence[float]], count: int, ids: Sequence[str] | None
    ) -> Sequence[Matches]:
        with self._shared.reading() as api:
            answer = api._query(
                found.id,
                query_embeddings=list(queries),
                n_results=count,
                ids=None if ids is None else list(ids),
                include=["metadatas", "documents", "distances"],
            )
        lists = zip(answer["ids"], answer["metadatas"], answer["documents"], answer["distances"], strict=True)
        return [
            Matches(records=Records(ids=those, metadatas=metadatas, documents=documents), distances=distances)
            for those, metadatas, documents, distances in lists
        ]


class _Shared:
    """The one Chroma that a process has for a folder, however many connections lead there."""

    _of_process: dict[Path, _Shared] = {}
    _guard = threading.Lock()

    def __init__(self, path: Path) -> None:
        self._path = path
        self._users = 0
        self._turn = threading.RLock()
        self._client: Any = None
        #: How often the folder had been written to when the client was opened, or wrote itself.
        self._seen = -1

    @classmethod
    def of(cls, path: Path) -> _Shared:
        with cls._guard:
            one = cls._of_process.setdefault(path, cls(path))
            one._users += 1
            return one

    def release(self) -> None:
        with self._guard:
            self._users -= 1
            if self._users <= 0:
                self._of_process.pop(self._path, None)
                with self._turn:
                    self._forget()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with self._locked(fcntl.LOCK_SH) as lock:
            yield self._opened(lock)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with self._locked(fcntl.LOCK_EX) as lock:
            api = self._opened(lock)
            # First: who dies in the middle has written, too.
            self._seen += 1
            os.pwrite(lock, self._seen.to_bytes(8), 0)
            yield api

    @contextmanager
    def _locked(self, kind: int) -> Iterator[int]:
        with self._turn:
            lock = self._lock_file()
            try:
                fcntl.flock(lock, kind)
                with _told():
                    yield lock
            finally:
                os.close(lock)

    def _lock_file(self) -> int:
        try:
            _check_folder(self._path)
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            logger.warning("a Chroma folder cannot be opened: %s", error)
            raise Unavailable(
                "The Chroma folder cannot be read or written. The server's log has the cause.",
                code="far_side_unreachable",
            ) from error

    def _opened(self, lock: int) -> Any:
        written = int.from_bytes(os.pread(lock, 8, 0))
        if self._client is not None and written != self._seen:
            self._forget()
        if self._client is None:
            import chromadb  # noqa: PLC0415 - takes a second
            from chromadb.config import Settings  # noqa: PLC0415

            self._client = chromadb.PersistentClient(
                path=str(self._path), settings=Settings(anonymized_telemetry=False)
            )
            self._seen = written
        return self._client._server

    def _forget(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _check_folder(path: Path) -> None:
    """Raise InvalidInput for a folder of something else."""
    if path.is_dir() and not (path / _DATABASE).exists() and any(one.name != _LOCK for one in path.iterdir()):
        raise InvalidInput("The folder holds something else than a Chroma database. Choose another.", code="not_ours")


@contextmanager
def _told() -> Iterator[None]:
    """What Chroma did, as an error of ours."""
    from chromadb import errors  # noqa: PLC0415 - takes a second

    try:
        yield
    except errors.NotFoundError:
        raise NotFound("There is no such collection in the Chroma folder.", code="collection_not_found") from None
    except (errors.InvalidArgumentError, errors.InvalidDimensionException, ValueError, OverflowError) as error:
        raise InvalidInput(f"Chroma does not take this: {str(error)[:300]}.", code="refused_there") from error
    except errors.ChromaError as error:
        raise FarSideFailed("Chroma failed. Try again; this server's log has what it said.") from error


def _found(model: Any) -> Found:
    return Found(
        id=str(model.id),
        name=model.name,
        metadata=model.metadata or {},
        distance=distance_of(model.configuration_json, model.metadata),
        dimension=model.dimension,
    )
