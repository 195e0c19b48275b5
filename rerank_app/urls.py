"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from rerank_app.api import RerankView

urlpatterns = [
    path("rerank", RerankView.as_view(), name="rerank"),
]
