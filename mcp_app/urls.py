"""The room's address."""

from __future__ import annotations

from django.urls import path

from mcp_app.api import McpView

urlpatterns = [path("mcp", McpView.as_view(), name="mcp")]
