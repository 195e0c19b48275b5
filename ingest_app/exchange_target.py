"""Where an exported collection goes, what becomes of its vectors there, and the collection it makes."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from collections_app.filters import save_filter
from collections_app.models import Collection, Distance
from collections_app.receiving import Model
from collections_app.services import check_language, create_collection
from core_app.errors import Conflict, InvalidInput, ModelFailed, RagsiteError
from core_app.names import RULE, is_collection_name
from core_app.ports import Embedder, Vectors
from core_app.where import parse_where
from core_app.wiring import app_settings, embedder
from ingest_app.exchange_lines import Header
from ingest_app.rechunking import chunking_of

logger = logging.getLogger(__name__)

#: What a collection may say of how it is searched; `search_app` has the same, and a test compares them.
SEARCH_WORDS: Mapping[str, tuple[str, ...]] = {
    "mode": ("fast", "balanced", "thorough"),
    "fusion": ("rrf", "calibrated"),
}
SEARCH_SHARES = ("lexical_weight", "min_score")


class Way(StrEnum):
    """What becomes of the vectors."""

    STORED = "stored"
    EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the vectors are afterwards. `fills` says whether the server can make one that a chunk lacks."""

    way: Way
    model: Model | None
    fills: bool


def check_header(header: Header, *, is_new: bool) -> None:
    """Raise InvalidInput for settings that a new collection cannot have; those of an existing one stay as they are."""
    if not is_new:
        return
    if header.distance not in Distance.values:
        raise InvalidInput(f"distance: must be one of {', '.join(Distance.values)}.", code="invalid_distance")
    check_language(header.language, provider=app_settings().vector_database.provider)
    chunking_of(Collection(chunking=header.chunking))
    _check_search(header.search)
    for kept in header.filters:
        check_name(kept.name)
        parse_where(kept.where, place=f"filters: '{kept.name}'")


def plan_for(header: Header, collection: Collection | None) -> Plan:
    """What becomes of the vectors. Raises Conflict where the collection can have neither these nor the server's."""
    source, given = _embedder(collection), header.embedding if header.vectors else None
    generation = collection.active_generation if collection else None
    if given is not None:
        brought = (given.connection if given.model is not None else None, given.model, given.dimension)
        server = (source.connection, source.model)
        if generation is None:
            fits = given.model is None or (brought[:2] == server and given.dimension == source.dimension)
        else:
            own = (generation.embedding_connection, generation.embedding_model, generation.dimension)
            fits = brought == own
        if fits:
            model = Model(connection=brought[0], model=brought[1], dimension=brought[2])
            return Plan(way=Way.STORED, model=model, fills=brought[:2] == server)
    if generation is not None and (generation.embedding_connection, generation.embedding_model) != (
        source.connection,
        source.model,
    ):
        those = "none" if given is None else f"those of {(given.model or 'its callers')[:100]}"
        raise Conflict(
            f"This collection holds vectors of {generation.embedding_model or 'its callers'}; the file has {those}, "
            f"and this server embeds with '{source.model}'. Import it into a new collection.",
            code="embedding_mismatch",
        )
    return Plan(way=Way.EMBEDDED, model=None, fills=True)


def make_collection(*, name: str, header: Header) -> Collection:
    """A new collection with the settings and filters of the exported one. Needs a transaction."""
    made = create_collection(
        name=name,
        metadata=header.metadata,
        distance=header.distance,
        language=header.language,
        chunking=header.chunking,
    )
    made.search, made.k1, made.b = header.search, header.k1, header.b
    made.save(update_fields=["search", "k1", "b", "updated_at"])
    for kept in header.filters:
        save_filter(collection_name=name, name=kept.name, where=kept.where, description=kept.description)
    return made


def check_name(name: str) -> None:
    """Raise InvalidInput for what cannot be a collection's name."""
    if not is_collection_name(name):
        raise InvalidInput(RULE, code="invalid_name")


def _embedder(collection: Collection | None) -> Embedder:
    return embedder(collection.embedding_connection if collection else "")


def embedded(texts: Sequence[str], collection: Collection | None) -> Vectors:
    """Vectors by the collection's model, or the server's for a new one. Raises ModelFailed."""
    source = _embedder(collection)
    size = source.batch_size
    try:
        parts = [source.embed_documents(texts[start : start + size]) for start in range(0, len(texts), size)]
    except RagsiteError:
        raise
    except Exception as error:
        logger.exception("texts of an imported collection could not be embedded")
        raise ModelFailed(
            "The embedding model failed, so these chunks were not imported. The server's log has the cause."
        ) from error
    found: Vectors = np.concatenate(parts)
    return found


def model_of(collection: Collection) -> Model:
    """What `embedded` embeds with."""
    source = _embedder(collection)
    return Model(connection=source.connection, model=source.model, dimension=source.dimension)


def _check_search(own: Mapping[str, Any]) -> None:
    for key, value in own.items():
        words = SEARCH_WORDS.get(key)
        if words is not None:
            if value not in words:
                raise InvalidInput(f"search.{key}: must be one of {', '.join(words)}.", code="invalid")
        elif key not in SEARCH_SHARES:
            raise InvalidInput(
                f"search.{key[:100]}: unknown. Known are {', '.join((*SEARCH_WORDS, *SEARCH_SHARES))}.", code="invalid"
            )
        elif (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or not (0 <= value <= 1)
        ):
            raise InvalidInput(f"search.{key}: must be a number from 0 to 1.", code="invalid")
