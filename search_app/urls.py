"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from search_app.api import SearchView
from search_app.query_api import QueryView

urlpatterns = [
    path("collections/<str:name>/query", QueryView.as_view(), name="query"),
    path("api/rag/collections/<str:name>/search", SearchView.as_view(), name="search"),
]
