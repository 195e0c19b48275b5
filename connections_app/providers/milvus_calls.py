"""One client of Milvus: its calls bounded in time, and what they raise as errors of ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import grpc  # type: ignore[import-untyped]
from pymilvus import MilvusClient  # type: ignore[import-untyped]
from pymilvus.exceptions import ErrorCode, MilvusException  # type: ignore[import-untyped]

from connections_app.providers.milvus_filters import literal
from core_app.errors import FarSideFailed, FarSideSlow, InvalidInput, NotFound, RagsiteError, Unavailable
from core_app.retrying import PassingFailure

logger = logging.getLogger(__name__)
# It logs each failed call with its expression, in which texts of users stand; `told` logs what is needed.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)

_NO_CONNECTION = 2
_NOT_LOADED = 101
_PAGE = 1_000
#: Milvus gives no more than 16,384 at once.
_PAGE_OF_KEYS = 10_000
Row = Mapping[str, Any]


class Passing(PassingFailure):
    """What may go well the next time; `ours` is said where it does not."""

    def __init__(self, ours: RagsiteError) -> None:
        super().__init__(ours.detail)
        self.ours = ours


class Calls:
    """The calls that the provider needs. May be used by several threads."""

    def __init__(self, address: str, *, token: str, database: str, seconds: float) -> None:
        """Connects. `seconds` bounds each call."""
        self._seconds = seconds
        self._client = MilvusClient(address, token=token, db_name=database, timeout=seconds, dedicated=True)
        # The client would try each call again until its time is up, writes too.
        self._client._handler._on_rpc_error = _not_again
        self._loaded: set[str] = set()
        self._indexes: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.version = str(self._client.get_server_version(timeout=seconds))

    def close(self) -> None:
        self._client.close()

    def names(self) -> list[str]:
        return [str(name) for name in self._client.list_collections(timeout=self._seconds)]

    def described(self, name: str) -> Mapping[str, Any] | None:
        """The schema as Milvus tells it; None where there is no such collection."""
        try:
            return cast("Mapping[str, Any]", self._client.describe_collection(name, timeout=self._seconds))
        except MilvusException as error:
            if error.code == ErrorCode.COLLECTION_NOT_FOUND:
                return None
            raise

    def has_index(self, name: str, field: str) -> bool:
        return bool(self._client.list_indexes(name, field_name=field, timeout=self._seconds))

    def index(self, name: str, field: str) -> Mapping[str, Any]:
        """The index on a field; empty without one. Asked for once: Milvus Lite counts all rows for it."""
        if (name, field) not in self._indexes:
            found = self._client.list_indexes(name, field_name=field, timeout=self._seconds)
            told = self._client.describe_index(name, found[0], timeout=self._seconds) if found else None
            if not told:
                return {}
            self._indexes[name, field] = told
        return self._indexes[name, field]

    def create(self, name: str, *, schema: Any, index: Any) -> None:
        """With its index, in memory. No error where another one was faster."""
        try:
            self._client.create_collection(name, schema=schema, consistency_level="Strong", timeout=self._seconds)
        except MilvusException:
            if self.described(name) is None:
                raise
        self.make_index(name, index)
        # Other clients may know a collection of this name as one that is in memory.
        self._client.load_collection(name, timeout=self._seconds)
        self._loaded.add(name)

    def make_index(self, name: str, index: Any) -> None:
        # Waiting for it means half a second of sleep, and there is nothing in it yet.
        self._client.create_index(name, index, sync=False, timeout=self._seconds)

    def drop(self, name: str) -> None:
        self._loaded.discard(name)
        self._client.drop_collection(name, timeout=self._seconds)

    def upsert(self, name: str, rows: Sequence[Row]) -> None:
        self._client.upsert(name, [dict(row) for row in rows], timeout=self._seconds)

    def delete(self, name: str, expression: str) -> None:
        self._client.delete(name, filter=expression, timeout=self._seconds)

    def count(self, name: str) -> int:
        with self._ready(name):
            told = self._client.query(
                name, filter="", output_fields=["count(*)"], consistency_level="Strong", timeout=self._seconds
            )
        return int(told[0]["count(*)"])

    def rows(self, name: str, expression: str, fields: Sequence[str], **more: Any) -> list[Row]:
        """Those that the expression lets through, for expressions that name few."""
        with self._ready(name):
            found = self._client.query(
                name,
                filter=expression,
                output_fields=list(fields),
                consistency_level="Strong",
                timeout=self._seconds,
                **more,
            )
        return list(found)

    def walk(
        self, name: str, expression: str, fields: Sequence[str], *, key: str, limit: int | None = None
    ) -> Iterator[Row]:
        """The rows that it lets through, or the first so many by their key; all come in the order of the key.

        The client has an iterator of its own, which writes keys into expressions as they are.
        """
        asked, rest = expression, limit
        page: list[Row] = [{}]
        most = _PAGE if fields else _PAGE_OF_KEYS
        while page and rest != 0:
            page = self.rows(
                name,
                asked,
                list({key, *fields}),
                limit=most if rest is None else min(rest, most),
                iterator="True",  # in the order of the key
            )
            yield from page
            rest = None if rest is None else rest - len(page)
            asked = f"({expression}) and {key} > {literal(page[-1][key])}" if page else asked

    def search(self, name: str, **more: Any) -> list[list[Row]]:
        """For each of `data`, the hits with their `entity`, nearest first."""
        with self._ready(name):
            return list(self._client.search(name, consistency_level="Strong", timeout=self._seconds, **more))

    @contextmanager
    def _ready(self, name: str) -> Iterator[None]:
        """With the collection in memory."""
        if name not in self._loaded:
            self._client.load_collection(name, timeout=self._seconds)
            self._loaded.add(name)
        try:
            yield
        except MilvusException:
            self._loaded.discard(name)  # it may have been released
            raise


def everything(key: str, *, is_text: bool) -> str:
    """The expression that each row passes; an empty one asks for a limit."""
    return f"{key} >= {literal('')}" if is_text else f"({key} >= 0 or {key} < 0)"


@contextmanager
def told() -> Iterator[None]:
    """What Milvus did, as an error of ours, or as Passing."""
    try:
        yield
    except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
        code = _code(error)
        logger.warning("a call of Milvus failed", extra={"error": type(error).__name__, "milvus_code": str(code)})
        ours, is_passing = _ours(code, str(error))
        raise (Passing(ours) if is_passing else ours) from error


def _code(error: BaseException) -> object:
    """The status that the connection gave, however the client wrapped it, else Milvus's own code."""
    wrapped: BaseException | None = error
    while wrapped is not None:
        if isinstance(wrapped, grpc.RpcError) and callable(getattr(wrapped, "code", None)):
            return wrapped.code()
        wrapped = wrapped.__cause__ or wrapped.__context__
    return error.code if isinstance(error, MilvusException) else None


def _ours(code: object, said: str) -> tuple[RagsiteError, bool]:
    """The error, and whether it may go well the next time."""
    status = grpc.StatusCode
    lower = said.lower()
    if code == status.DEADLINE_EXCEEDED or "retry timeout" in lower or "deadline_exceeded" in lower:
        return FarSideSlow("Milvus did not answer in time. Try again, or raise the connection's time limit."), False
    if code in {status.UNAUTHENTICATED, status.PERMISSION_DENIED} or any(word in lower for word in _REFUSALS):
        return (
            FarSideFailed(
                "Milvus refused the connection's token or password. Check it and what it may do.",
                code="far_side_refused",
            ),
            False,
        )
    if code in {ErrorCode.RATE_LIMIT, ErrorCode.FORCE_DENY, status.RESOURCE_EXHAUSTED}:
        return Unavailable("Milvus is busy. Try again in a few seconds.", code="far_side_busy"), True
    if code in {_NO_CONNECTION, status.UNAVAILABLE}:
        return Unavailable("Milvus cannot be reached. Check its address.", code="far_side_unreachable"), True
    if code == ErrorCode.COLLECTION_NOT_FOUND:
        return NotFound("The collection is gone from Milvus.", code="collection_not_found"), False
    if code == _NOT_LOADED:
        return FarSideFailed("Milvus has released the collection. Try again."), True
    if code == ErrorCode.INDEX_NOT_FOUND or "index not found" in lower:
        return InvalidInput("The collection has no index on its vectors. Make one in Milvus.", code="no_index"), False
    return FarSideFailed("Milvus failed. Try again; this server's log has its code."), False


_REFUSALS = ("unauthenticated", "permission_denied", "permission deny", "auth check failure", "privilege")


def _not_again(error: Exception) -> bool:
    raise error
