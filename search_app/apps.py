"""Registers the room with Django; its one table is the query log."""

from __future__ import annotations

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "search_app"
    label = "search"
