"""The classes that the configured models are made of, found by the wiring as these are."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from core_app.chat_models import ChatModel
from core_app.config import Embedding, Llm
from core_app.ports import Embedder


def local_embedder(section: Embedding) -> Embedder:
    """One that runs a model here."""
    return cast("Embedder", _class("EMBEDDERS", "sentence-transformers")(section))


def called_chat(section: Llm) -> ChatModel:
    """One that calls a service."""
    return cast("ChatModel", _class("CHAT_MODELS", section.provider)(section))


def _class(table: str, name: str) -> type:
    return cast("type", import_string(import_string(f"{settings.RAGSITE_WIRING}.{table}")[name]))
