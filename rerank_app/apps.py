"""Registers the room with Django; it has no tables of its own."""

from __future__ import annotations

from django.apps import AppConfig


class RerankConfig(AppConfig):
    name = "rerank_app"
    label = "rerank"
