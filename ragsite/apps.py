"""Registers the commands that start and describe the server."""

from __future__ import annotations

from django.apps import AppConfig

from ragsite.celery import app


class RagsiteConfig(AppConfig):
    name = "ragsite"
    label = "ragsite"
    #: Loaded with the apps, so that whoever sends a task sends it through this broker.
    celery = app
