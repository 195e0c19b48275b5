"""The room as Django knows it."""

from __future__ import annotations

from django.apps import AppConfig


class McpConfig(AppConfig):
    name = "mcp_app"
    label = "mcp"
    verbose_name = "MCP"
