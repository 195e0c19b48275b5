"""Finds what implements a port, by the dotted paths of the wiring module that the settings name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from core_app.chat_models import ChatModel
from core_app.config import AppSettings
from core_app.config_loading import LoadedSettings
from core_app.errors import InvalidInput
from core_app.judged import JudgedQuery
from core_app.moving import Mover
from core_app.ports import Embedder, PairScorer, Store


def app_settings() -> AppSettings:
    """The effective settings."""
    return settings.RAGSITE


def loaded_settings() -> LoadedSettings:
    """The effective settings with the environment's name and the warnings of loading them."""
    return settings.LOADED


def data_folder() -> Path:
    """The folder that holds all state of this server; for its owner only."""
    return settings.DATA_DIR


#: A cache alone lets two threads of a starting process build two, and load a model twice.
_building = threading.RLock()


def store(name: str) -> Store:
    """The store of this name; one instance a process. Raises InvalidInput for a name that is not configured."""
    with _building:
        return _store(name)


def embedder(connection: str = "") -> Embedder:
    """The embedder of a connection, or the configured one, of which there is one a process.

    It loads its model at first use. Raises Unavailable for a connection that is gone or cannot be used, and
    InvalidInput for one that does not embed.
    """
    if connection:
        path = import_string(f"{settings.RAGSITE_WIRING}.EMBEDDER_OF_CONNECTION")
        return cast("Embedder", import_string(path)(name=connection))
    with _building:
        return _embedder()


def pair_scorer() -> PairScorer | None:
    """The configured cross-encoder, loaded; one a process. None where none is configured.

    Raises Unavailable where it cannot be loaded.
    """
    if not (app_settings().rerank.cross_encoder or app_settings().rerank.cross_encoder_path):
        return None
    with _building:
        return _pair_scorer()


def chat_model() -> ChatModel | None:
    """That of the connection that the settings name, or the configured one, of which there is one a process.

    None where none is configured. The first call imports for seconds. Raises Unavailable for a connection that is gone
    or cannot be used, and InvalidInput for one without a chat model.
    """
    if name := app_settings().llm.connection:
        path = import_string(f"{settings.RAGSITE_WIRING}.CHAT_MODEL_OF_CONNECTION")
        return cast("ChatModel", import_string(path)(name=name))
    if app_settings().llm.provider == "none":
        return None
    with _building:
        return _chat_model()


def mover() -> Mover:
    """What brings collections to other systems."""
    return cast("Mover", import_string(import_string(f"{settings.RAGSITE_WIRING}.MOVER"))())


def copy_test_cases(*, source_id: int, target_id: int) -> None:
    """Give a collection the test cases of another, whose copy it is, in the caller's transaction."""
    import_string(import_string(f"{settings.RAGSITE_WIRING}.TEST_CASES"))(source_id=source_id, target_id=target_id)


def save_judged_query(*, collection_name: str, query: JudgedQuery, saved_by: str) -> None:
    """Keep a query with its judgements as a test case of a collection, in the place of the one of that name.

    Raises NotFound, InvalidInput for what cannot be judged, Conflict where the collection has as many as it may.
    """
    import_string(import_string(f"{settings.RAGSITE_WIRING}.SAVE_JUDGED_QUERY"))(
        collection_name=collection_name, query=query, saved_by=saved_by
    )


def judged_queries(*, collection_name: str) -> Iterator[JudgedQuery]:
    """The test cases of a collection, by name. Raises NotFound."""
    return cast(
        "Iterator[JudgedQuery]",
        import_string(import_string(f"{settings.RAGSITE_WIRING}.JUDGED_QUERIES"))(collection_name=collection_name),
    )


@cache
def _chat_model() -> ChatModel:
    section = app_settings().llm
    path = import_string(f"{settings.RAGSITE_WIRING}.CHAT_MODELS")[section.provider]
    return cast("ChatModel", import_string(path)(section))


@cache
def _pair_scorer() -> PairScorer:
    path = import_string(f"{settings.RAGSITE_WIRING}.PAIR_SCORER")
    scorer = cast("PairScorer", import_string(path)(app_settings().rerank))
    scorer.load()
    return scorer


@cache
def _store(name: str) -> Store:
    path = import_string(f"{settings.RAGSITE_WIRING}.STORES").get(name)
    if path is None:
        raise InvalidInput(f"There is no store '{name}'. Choose one of those configured.", code="unknown_store")
    return cast("Store", import_string(path)())


@cache
def _embedder() -> Embedder:
    section = app_settings().embedding
    path = import_string(f"{settings.RAGSITE_WIRING}.EMBEDDERS")[section.provider]
    return cast("Embedder", import_string(path)(section))
