"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from ingest_app.api import (
    DocumentsView,
    EmptyingView,
    JobCancelView,
    JobRetryView,
    JobsView,
    JobView,
    SourcesView,
)
from ingest_app.chunking_api import ChunkingPreviewView, ChunkingView
from ingest_app.cloning_api import CloneView
from ingest_app.connectors_api import ConnectorRunView, ConnectorsView, ConnectorView
from ingest_app.exchange_api import ExportView, ImportView
from ingest_app.fetch_api import FetchView
from ingest_app.language_api import LanguageView

urlpatterns = [
    # Stands before `collections/<name>/documents/<document_id>`: DELETE here empties the collection.
    path("collections/<str:name>/documents/all", EmptyingView.as_view(), name="empty"),
    path("collections/<str:name>/clone", CloneView.as_view(), name="collection-clone"),
    path("api/rag/collections/<str:name>/documents", DocumentsView.as_view(), name="ingest"),
    path("api/rag/collections/<str:name>/chunking", ChunkingView.as_view(), name="chunking"),
    path("api/rag/collections/<str:name>/chunking/preview", ChunkingPreviewView.as_view(), name="chunking-preview"),
    path("api/rag/collections/<str:name>/connectors", ConnectorsView.as_view(), name="connectors"),
    path("api/rag/collections/<str:name>/connectors/<uuid:connector_id>", ConnectorView.as_view(), name="connector"),
    path(
        "api/rag/collections/<str:name>/connectors/<uuid:connector_id>/run",
        ConnectorRunView.as_view(),
        name="connector-run",
    ),
    path("api/rag/collections/<str:name>/export", ExportView.as_view(), name="collection-export"),
    path("api/rag/collections/<str:name>/import", ImportView.as_view(), name="collection-import"),
    path("api/rag/collections/<str:name>/import/connection", FetchView.as_view(), name="collection-fetch"),
    path("api/rag/collections/<str:name>/language", LanguageView.as_view(), name="language"),
    path("api/rag/collections/<str:name>/sources", SourcesView.as_view(), name="sources"),
    path("api/rag/jobs", JobsView.as_view(), name="jobs"),
    path("api/rag/jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("api/rag/jobs/<uuid:job_id>/cancel", JobCancelView.as_view(), name="job-cancel"),
    path("api/rag/jobs/<uuid:job_id>/retry", JobRetryView.as_view(), name="job-retry"),
]
