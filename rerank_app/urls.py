"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from rerank_app.api import RerankView
from rerank_app.compatible_api import RerankV1View, RerankV2View

urlpatterns = [
    path("rerank", RerankView.as_view(), name="rerank"),
    path("v1/rerank", RerankV1View.as_view(), name="rerank-v1"),
    path("v2/rerank", RerankV2View.as_view(), name="rerank-v2"),
]
