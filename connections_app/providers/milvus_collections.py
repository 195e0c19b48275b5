"""The collections in one Milvus, and the chunks of one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from connections_app.providers.milvus_calls import Calls, Row, everything
from connections_app.providers.milvus_filters import literal, narrowed, one_of
from connections_app.providers.milvus_schema import (
    CATALOGUE,
    LONGEST_ID,
    METRIC_OF,
    Layout,
    catalogue_schema,
    check,
    check_metadata,
    check_text,
    chunks_schema,
    far_name,
    index_of,
    is_of_others,
    layout_of,
    rows_of,
)
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound, RagsiteError
from core_app.ports import DistanceName, Vectors
from core_app.providers import HeldChunk, HeldCollection
from core_app.where import Where, matches

#: Rows that are asked for by their keys at once, and sent at once.
_KEYS = 500
_ROWS = 1_000


class Wishes(Protocol):
    """What of the settings concerns collections."""

    @property
    def index(self) -> str: ...
    @property
    def text_field(self) -> str: ...
    @property
    def vector_field(self) -> str: ...
    @property
    def metadata_field(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Found:
    """A collection. It has no layout before something is added to it: Milvus fixes the dimension when it makes one."""

    calls: Calls
    name: str
    #: Of the catalogue; None for a collection that another program made.
    entry: Mapping[str, Any] | None
    layout: Layout | None

    def walk(self, where: Where | None, *, with_vector: bool = False) -> Iterator[HeldChunk]:
        """The chunks that the filter lets through, in any order."""
        return (chunk for _, chunk in self._walk(where, with_vector=with_vector))

    def keys(self, where: Where | None) -> list[str]:
        """Their ids in the order in which they were added; by key in a collection of another program."""
        if self.layout is None:
            return []
        if where is not None:
            found = [(row.get("seq", row[self.layout.key]), chunk.id) for row, chunk in self._walk(where)]
        else:
            order = "seq" if self.layout.is_ours else self.layout.key
            rows = self.calls.walk(self.layout.name, self.layout.all_rows, [order], key=self.layout.key)
            found = [(row[order], str(row[self.layout.key])) for row in rows]
        return [key for _, key in sorted(found)]

    def chunks(self, ids: Sequence[str], *, with_vector: bool) -> list[HeldChunk]:
        """Those of these ids that are there, in this order."""
        if self.layout is None:
            return []
        fields = self.layout.fields(with_vector=with_vector)
        found: dict[str, HeldChunk] = {}
        for row in self._named(ids, fields):
            chunk = self.layout.chunk(row, with_vector=with_vector)
            found[chunk.id] = chunk
        return [found[key] for key in ids if key in found]

    def following(self, after: str | None, limit: int) -> list[str]:
        """The next ids of a scan, which goes by key: what is replaced meanwhile stays where it is."""
        way, _, last = (after or "key:").partition(":")
        if way != "key":
            raise InvalidInput("'after' was not given by this store.", code="invalid_cursor")
        if self.layout is None:
            return []
        expression = self.layout.all_rows
        if after is not None:
            key = self.layout.key_of(last)
            if key is None:
                raise InvalidInput("'after' was not given by this store.", code="invalid_cursor")
            expression = f"{self.layout.key} > {literal(key)}"
        rows = self.calls.walk(self.layout.name, expression, [], key=self.layout.key, limit=limit)
        return [str(row[self.layout.key]) for row in rows]

    def delete(self, ids: Sequence[str]) -> int:
        """These, which are there."""
        assert self.layout is not None or not ids
        for part in _parts(ids, _KEYS):
            layout = cast("Layout", self.layout)
            self.calls.delete(layout.name, one_of(layout.key, part))
        return len(ids)

    def empty(self) -> int:
        """With the dimension: the next add makes the collection anew."""
        if self.layout is None:
            return 0
        count = self.calls.count(self.layout.name)
        self.calls.drop(self.layout.name)
        return count

    def order_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The places of those that are there."""
        return {str(row["id"]): int(row["seq"]) for row in self._named(ids, ["id", "seq"])}

    def _walk(self, where: Where | None, *, with_vector: bool = False) -> Iterator[tuple[Row, HeldChunk]]:
        if self.layout is None:
            return
        narrow = narrowed(where, field="metadata") if self.layout.is_ours else None
        fields = self.layout.fields(with_vector=with_vector) + (["seq"] if self.layout.is_ours else [])
        for row in self.calls.walk(self.layout.name, narrow or self.layout.all_rows, fields, key=self.layout.key):
            chunk = self.layout.chunk(row, with_vector=with_vector)
            if matches(where, metadata=chunk.metadata, text=chunk.text):
                yield row, chunk

    def _named(self, ids: Sequence[str], fields: Sequence[str]) -> Iterator[Row]:
        layout = cast("Layout", self.layout)
        keys = [key for key in map(layout.key_of, ids) if key is not None]
        for part in _parts(keys, _KEYS):
            yield from self.calls.rows(layout.name, one_of(layout.key, part), fields)


class Shelf:
    """All collections, while a client is open."""

    def __init__(self, calls: Calls, wishes: Wishes) -> None:
        self.calls = calls
        self._wishes = wishes

    def names(self) -> list[str]:
        """Of our collections and of those that other programs made, sorted."""
        ours = self._entries()
        far = {str(entry["far"]) for entry in ours.values()}
        others = [name for name in self.calls.names() if is_of_others(name) and name not in far]
        return sorted([*ours, *others])

    def found(self, name: str) -> Found:
        """Raises NotFound."""
        entry = self._entries(name).get(name)
        if entry is None and not is_of_others(name):
            raise _not_found(name)
        layout = self._layout(str(entry["far"]) if entry else name, entry)
        if entry is None and layout is None:
            raise _not_found(name)
        if entry is not None and layout is not None and not layout.is_ours:
            raise FarSideFailed(
                f"Another program made '{layout.name}' anew. Delete it in Milvus.", code="unreadable_collection"
            )
        return Found(calls=self.calls, name=name, entry=entry, layout=layout)

    def ours(self, name: str) -> Found:
        """Raises InvalidInput for a collection that another program made."""
        found = self.found(name)
        if found.entry is None:
            raise InvalidInput(
                f"Collection '{name}' was made by another program: it is read and searched, not changed. "
                "Move it into a new collection to change it.",
                code="collection_of_another_program",
            )
        return found

    def held(self, found: Found) -> HeldCollection:
        """What there is to tell of it."""
        layout, entry = found.layout, found.entry or {}
        created_at = entry.get("created_at")
        return HeldCollection(
            name=found.name,
            metadata=dict(entry.get("metadata", {})),
            distance=cast("DistanceName", entry.get("distance") or (layout.distance if layout else "cosine")),
            id=layout.name if layout else str(entry.get("far")),
            count=self.calls.count(layout.name) if layout else 0,
            dimension=layout.dimension if layout else None,
            created_at=datetime.fromisoformat(created_at) if created_at else None,
        )

    def told(self, name: str) -> HeldCollection:
        """As `held`; of a collection that cannot be read, no more than that it is there."""
        try:
            return self.held(self.found(name))
        except RagsiteError:
            return HeldCollection(name=name, metadata={}, distance="cosine")

    def make(self, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        check_text("The name", name, LONGEST_ID)
        check_metadata(metadata)
        if name in self.names() or far_name(name) in self.calls.names():
            raise Conflict(f"Collection '{name}' already exists.", code="collection_exists")
        entry = {
            "far": far_name(name),
            "metadata": dict(metadata),
            "distance": distance,
            "index": self._wishes.index,
            "created_at": datetime.now(UTC).isoformat(),
        }
        self._write(name, entry)
        return self.held(Found(calls=self.calls, name=name, entry=entry, layout=None))

    def describe(self, found: Found, metadata: Mapping[str, Any], *, merge: bool) -> Mapping[str, Any]:
        """The metadata as they are then."""
        entry = cast("Mapping[str, Any]", found.entry)
        new = {**entry["metadata"], **metadata} if merge else dict(metadata)
        check_metadata(new)
        self._write(found.name, {**entry, "metadata": new})
        return new

    def remove(self, found: Found) -> None:
        if found.layout is not None:
            self.calls.drop(found.layout.name)
        if found.entry is not None:
            self.calls.delete(CATALOGUE, one_of("name", [found.name]))

    def put(self, found: Found, chunks: Sequence[HeldChunk]) -> None:
        """In parts of a thousand: what is larger is stored part by part."""
        check(chunks)
        if not chunks:
            return
        given = {chunk.id: chunk for chunk in chunks}
        entry = cast("Mapping[str, Any]", found.entry)
        dimension = len(cast("Vectors", chunks[0].embedding))
        if found.layout is None:
            _check_dimension(chunks, dimension)
            index = index_of(entry["distance"], index=entry["index"])
            self.calls.create(str(entry["far"]), schema=chunks_schema(dimension), index=index)
            found = replace(found, layout=self._layout(str(entry["far"]), entry))
        layout = cast("Layout", found.layout)
        _check_dimension(chunks, layout.dimension)
        if not self.calls.has_index(layout.name, layout.vector):  # who made the collection died before it had one
            self.calls.make_index(layout.name, index_of(entry["distance"], index=entry["index"]))
        rows = rows_of(given.values(), found.order_of(list(given)))
        for part in _parts(rows, _ROWS):
            self.calls.upsert(layout.name, part)

    def _layout(self, far: str, entry: Mapping[str, Any] | None) -> Layout | None:
        described = self.calls.described(far)
        if described is None:
            return None
        wishes = self._wishes
        return layout_of(
            described,
            lambda field: _index_told(entry) if entry else self.calls.index(far, field),
            text=wishes.text_field,
            vector=wishes.vector_field,
            metadata=wishes.metadata_field,
        )

    def _entries(self, name: str | None = None) -> dict[str, Mapping[str, Any]]:
        """All of the catalogue, or that of one name."""
        if self.calls.described(CATALOGUE) is None:
            return {}
        asked = everything("name", is_text=True) if name is None else one_of("name", [name])
        rows = self.calls.walk(CATALOGUE, asked, ["entry"], key="name")
        return {str(row["name"]): json.loads(row["entry"]) for row in rows}

    def _write(self, name: str, entry: Mapping[str, Any]) -> None:
        if self.calls.described(CATALOGUE) is None:
            self.calls.create(CATALOGUE, schema=catalogue_schema(), index=index_of("l2", index="FLAT"))
        self.calls.upsert(
            CATALOGUE, [{"name": name, "entry": json.dumps(entry, ensure_ascii=False), "vector": [0.0, 0.0]}]
        )


def _index_told(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The index of a collection of ours, as Milvus would tell it."""
    return {"index_type": entry["index"], "metric_type": METRIC_OF[entry["distance"]]}


def _check_dimension(chunks: Sequence[HeldChunk], dimension: int) -> None:
    if any(len(cast("Vectors", chunk.embedding)) != dimension for chunk in chunks):
        raise InvalidInput(
            f"The collection holds embeddings of {dimension} numbers. Send such ones.", code="dimension_mismatch"
        )


def _parts(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _not_found(name: str) -> NotFound:
    return NotFound(f"Collection '{name}' not found", code="collection_not_found")
