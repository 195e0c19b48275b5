"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from search_app.api import SearchView

urlpatterns = [
    path("collections/<str:name>/search", SearchView.as_view(), name="search"),
]
