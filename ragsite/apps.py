"""Registers the commands that start and describe the server."""

from __future__ import annotations

from django.apps import AppConfig


class RagsiteConfig(AppConfig):
    name = "ragsite"
    label = "ragsite"
