"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from search_app.api import KnowledgeSearchView, SearchCollectionsView, SearchView
from search_app.query_api import QueryView
from search_app.testcases_api import RunTestCasesView, TestCasesView
from search_app.tuning_api import SearchSettingsView

urlpatterns = [
    path("collections/<str:name>/query", QueryView.as_view(), name="query"),
    path("api/rag/search", SearchCollectionsView.as_view(), name="search-collections"),
    path("api/rag/collections/<str:name>/search", SearchView.as_view(), name="search"),
    path("api/rag/collections/<str:name>/search-settings", SearchSettingsView.as_view(), name="search-settings"),
    path("api/rag/collections/<str:name>/test-cases", TestCasesView.as_view(), name="test-cases"),
    path("api/rag/collections/<str:name>/test-cases/run", RunTestCasesView.as_view(), name="test-cases-run"),
    path("knowledge/<str:name>/search", KnowledgeSearchView.as_view(), name="knowledge-search"),
]
