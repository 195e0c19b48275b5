"""Registers the room with Django; its tables are the query log and test cases."""

from __future__ import annotations

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "search_app"
    label = "search"
