"""How chunks lie in Milvus: in collections of ours, and in those of other programs as far as they can be read."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from pymilvus import DataType, MilvusClient  # type: ignore[import-untyped]

from connections_app.providers.milvus_calls import everything
from core_app.errors import InvalidInput
from core_app.ports import DistanceName, Vectors
from core_app.providers import HeldChunk

#: One row for each collection of ours: what Milvus itself cannot keep of it, and keeps no longer than its vectors.
CATALOGUE = "ragsite_collections"
_OURS = "ragsite_"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,199}", re.ASCII)
_MILVUS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}", re.ASCII)
_METRICS: Mapping[str, DistanceName] = {"COSINE": "cosine", "L2": "l2", "IP": "ip"}
METRIC_OF = {distance: metric for metric, distance in _METRICS.items()}
_TEXTS = ("text", "content", "document", "page_content", "body", "chunk")
_SCALARS = {
    DataType.BOOL,
    DataType.INT8,
    DataType.INT16,
    DataType.INT32,
    DataType.INT64,
    DataType.FLOAT,
    DataType.DOUBLE,
    DataType.VARCHAR,
    DataType.JSON,
    DataType.ARRAY,
}
#: In bytes, as Milvus counts.
LONGEST_ID = 4_096
LONGEST_TEXT = 65_535
LONGEST_JSON = 65_000
DIMENSIONS = range(2, 32_769)
_INTEGERS = range(-(2**63), 2**64)
_LARGEST_FLOAT = sys.float_info.max
_OUR_FIELDS = {"id", "seq", "text", "metadata", "exact", "vector"}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The fields of one collection in Milvus."""

    name: str
    key: str
    has_text_keys: bool
    vector: str
    dimension: int
    distance: DistanceName
    #: As Milvus calls it; empty where the vectors have no index.
    index_type: str
    #: Lists of an IVF index.
    lists: int
    #: None where no field holds texts, or metadata as one object.
    text: str | None
    metadata: str | None
    #: Fields that are metadata each by itself.
    others: tuple[str, ...]
    is_dynamic: bool
    #: Names that may hold the text where no field does: each row of a dynamic collection has its own.
    dynamic_texts: tuple[str, ...]
    #: Made by this provider: with `seq`, the order of adding.
    is_ours: bool

    @property
    def all_rows(self) -> str:
        return everything(self.key, is_text=self.has_text_keys)

    def fields(self, *, with_vector: bool) -> list[str]:
        """What is asked for; those of a dynamic collection have no other name than all."""
        if self.is_dynamic:
            return ["*"]
        exact = "exact" if self.is_ours else None
        named = [self.key, self.text, self.metadata, exact, *self.others, self.vector if with_vector else None]
        return [name for name in named if name is not None]

    def chunk(self, row: Mapping[str, Any], *, with_vector: bool) -> HeldChunk:
        texts = (self.text,) if self.text else self.dynamic_texts
        text = next((name for name in texts if isinstance(row.get(name), str)), None)
        return HeldChunk(
            id=str(row[self.key]),
            text=row[text] if text else "",
            metadata={key: value for key, value in self._metadata(row).items() if self.text or key != text},
            embedding=np.asarray(row[self.vector], dtype=np.float32) if with_vector else None,
        )

    def _metadata(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if self.is_ours and row["exact"]:
            return cast("dict[str, Any]", json.loads(row["exact"]))
        free = set(row) - {self.key, self.text, self.metadata, self.vector} if self.is_dynamic else set(self.others)
        metadata = {name: _plain(row[name]) for name in sorted(free) if name in row and _is_told(row[name])}
        inner = row.get(self.metadata) if self.metadata else None
        return {**metadata, **inner} if isinstance(inner, dict) else metadata

    def key_of(self, chunk_id: str) -> str | int | None:
        """The key that stands for an id; None where there can be no such."""
        if self.has_text_keys:
            return chunk_id
        return int(chunk_id) if re.fullmatch(r"-?\d{1,18}", chunk_id, re.ASCII) else None

    def search_params(self, limit: int) -> dict[str, Any]:
        """As wide as the index allows."""
        wide: dict[str, Any] = {}
        if self.index_type.startswith("HNSW"):
            wide = {"ef": min(max(4 * limit, 512), 32_768)}
        elif self.index_type.startswith("IVF"):
            wide = {"nprobe": max(self.lists, 1)}
        return {"metric_type": METRIC_OF[self.distance], "params": wide}


def far_name(name: str) -> str:
    """Where a collection's chunks lie: under its own name where Milvus takes that, else under one made of it."""
    if _PLAIN.fullmatch(name) and not name.startswith(_OURS):
        return name
    return _OURS + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def is_of_others(name: str) -> bool:
    """Whether another program can have named a collection so."""
    return bool(_MILVUS_NAME.fullmatch(name)) and not name.startswith(_OURS)


def catalogue_schema() -> Any:
    """Of rows `name` and `entry`, which is JSON; Milvus wants a vector in each collection."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("name", DataType.VARCHAR, is_primary=True, max_length=LONGEST_ID)
    schema.add_field("entry", DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    return schema


def chunks_schema(dimension: int) -> Any:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=LONGEST_ID)
    schema.add_field("seq", DataType.INT64)
    schema.add_field("text", DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field("metadata", DataType.JSON)
    # The metadata as JSON, where a number in them has more than 64 bits; empty elsewhere.
    schema.add_field("exact", DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    return schema


def index_of(distance: DistanceName, *, index: str) -> Any:
    """For `vector`; HNSW with more edges than Milvus makes by itself."""
    params = MilvusClient.prepare_index_params()
    wide = {"M": 32, "efConstruction": 400} if index == "HNSW" else {}
    params.add_index("vector", index_type=index, metric_type=METRIC_OF[distance], params=wide)
    return params


def layout_of(
    told: Mapping[str, Any], index_of_field: Any, *, text: str = "", vector: str = "", metadata: str = ""
) -> Layout:
    """Of a collection as Milvus describes it; `index_of_field` tells the index on a field.

    The three names are those of the fields to use, empty where they are to be found. Raises InvalidInput where that
    cannot be: for vectors in no or several fields, for instance.
    """
    fields = {str(field["name"]): field for field in told["fields"]}
    is_ours = set(fields) == _OUR_FIELDS
    if is_ours:
        text, vector, metadata = "text", "vector", "metadata"
    key = next(name for name, field in fields.items() if field.get("is_primary"))
    free = {name: field for name, field in fields.items() if name != key}
    is_dynamic = bool(told.get("enable_dynamic_field"))
    dynamic_texts = ((text,) if text else _TEXTS) if is_dynamic else ()
    found_vector = _one(free, vector, {DataType.FLOAT_VECTOR}, what="vectors", setting="vector_field")
    if found_vector is None:
        raise InvalidInput("The collection has no field of vectors of float32.", code="unreadable_collection")
    found_text = _text_field(free, "" if text in dynamic_texts and text not in free else text)
    found_metadata = _metadata_field(free, metadata)
    used = {found_vector, found_text, found_metadata} | (_OUR_FIELDS if is_ours else set())
    index = index_of_field(found_vector)
    return Layout(
        name=str(told["collection_name"]),
        key=key,
        has_text_keys=fields[key]["type"] == DataType.VARCHAR,
        vector=found_vector,
        dimension=int(fields[found_vector]["params"]["dim"]),
        distance=_METRICS.get(str(index.get("metric_type", "")), "cosine"),
        index_type=str(index.get("index_type", "")),
        lists=int(index.get("nlist") or 128),
        text=found_text,
        metadata=found_metadata,
        others=tuple(name for name, field in free.items() if name not in used and field["type"] in _SCALARS),
        is_dynamic=is_dynamic,
        dynamic_texts=dynamic_texts,
        is_ours=is_ours,
    )


def _text_field(fields: Mapping[str, Any], named: str) -> str | None:
    """By the setting, a name that is common for it, or its type."""
    common = [name for name in _TEXTS if name in fields and fields[name]["type"] == DataType.VARCHAR]
    return _one(fields, named or next(iter(common), ""), {DataType.VARCHAR}, what="texts", setting="text_field")


def _metadata_field(fields: Mapping[str, Any], named: str) -> str | None:
    has_common = "metadata" in fields and fields["metadata"]["type"] == DataType.JSON
    return _one(
        fields,
        named or ("metadata" if has_common else ""),
        {DataType.JSON},
        what="metadata",
        setting="metadata_field",
    )


def _one(fields: Mapping[str, Any], named: str, types: set[Any], *, what: str, setting: str) -> str | None:
    """The field of that name or, without a name, the only one of these types; None where there is none."""
    fitting = [name for name, field in fields.items() if field["type"] in types]
    if named:
        if named not in fitting:
            raise InvalidInput(
                f"The collection has no field '{named}' that holds {what}. Change the connection's {setting}.",
                code="unreadable_collection",
            )
        return named
    if len(fitting) > 1:
        raise InvalidInput(
            f"Several fields may hold the {what}: {', '.join(fitting[:5])}. Name one in the connection's {setting}.",
            code="unreadable_collection",
        )
    return fitting[0] if fitting else None


def rows_of(chunks: Iterable[HeldChunk], seqs: Mapping[str, int]) -> list[dict[str, Any]]:
    """As they are stored; those without a place in the order come after all others."""
    following = max([time.time_ns(), *(seq + 1 for seq in seqs.values())])
    rows = []
    for chunk in chunks:
        seq = seqs.get(chunk.id)
        if seq is None:
            seq, following = following, following + 1
        metadata = dict(chunk.metadata)
        held = _shortened(metadata)
        exact = "" if _json(held) == _json(metadata) else _json(metadata)
        rows.append({"id": chunk.id, "seq": seq, "text": chunk.text, "metadata": held, "exact": exact})
        rows[-1]["vector"] = chunk.embedding
    return rows


def check(chunks: Sequence[HeldChunk]) -> None:
    """Raises InvalidInput for what Milvus cannot hold, and for embeddings that are missing or of several lengths."""
    if any(chunk.embedding is None for chunk in chunks):
        raise InvalidInput("All documents must include pre-computed embeddings", code="embeddings_required")
    for dimension in {len(cast("Vectors", chunk.embedding)) for chunk in chunks}:
        if dimension not in DIMENSIONS:
            raise InvalidInput(
                f"Milvus takes embeddings of {DIMENSIONS.start} to {DIMENSIONS.stop - 1} numbers.",
                code="dimension_not_possible",
            )
    for chunk in chunks:
        check_text("An id", chunk.id, LONGEST_ID)
        check_text("A text", chunk.text, LONGEST_TEXT)
        check_metadata(chunk.metadata)


def check_text(what: str, text: str, longest: int) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > longest:
        raise InvalidInput(f"{what} has more than {longest} bytes, which Milvus cannot hold.", code="too_long")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    check_text("The metadata", _json(metadata), LONGEST_JSON)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    """The same with whole numbers of at most 64 bits; longer ones as floats."""
    if isinstance(value, dict):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(one) for one in value]
    if isinstance(value, int) and value not in _INTEGERS:
        return math.copysign(_LARGEST_FLOAT, value) if abs(value) > _LARGEST_FLOAT else float(value)
    return value


def _is_told(value: object) -> bool:
    """Whether a field's value can be metadata: no vector of a dynamic collection, nothing that is missing."""
    return value is not None and not isinstance(value, bytes | np.ndarray)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | dict | list) else list(value)
