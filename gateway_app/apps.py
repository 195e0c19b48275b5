"""Registers the room with Django; it has no tables."""

from __future__ import annotations

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway_app"
    label = "gateway"
