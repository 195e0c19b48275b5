"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from collections_app.api import CollectionMetadataView, CollectionsView, CollectionView
from collections_app.documents_api import DocumentsView, DocumentView, MetadataValuesView
from collections_app.embedding_api import EmbeddingView
from collections_app.filters_api import (
    FieldsView,
    FieldValuesView,
    FilterPreviewView,
    FiltersView,
    FilterView,
)

urlpatterns = [
    path("collections", CollectionsView.as_view(), name="collections"),
    path("collections/<str:name>", CollectionView.as_view(), name="collection"),
    path("collections/<str:name>/metadata", CollectionMetadataView.as_view(), name="collection-metadata"),
    path("collections/<str:name>/metadata-values", MetadataValuesView.as_view(), name="metadata-values"),
    path("api/rag/collections/<str:name>/embedding", EmbeddingView.as_view(), name="embedding"),
    path("api/rag/collections/<str:name>/fields", FieldsView.as_view(), name="fields"),
    path("api/rag/collections/<str:name>/fields/values", FieldValuesView.as_view(), name="field-values"),
    path("api/rag/collections/<str:name>/filters", FiltersView.as_view(), name="filters"),
    path("api/rag/collections/<str:name>/filters/preview", FilterPreviewView.as_view(), name="filter-preview"),
    path("api/rag/collections/<str:name>/filters/<str:filter_name>", FilterView.as_view(), name="filter"),
    path("collections/<str:name>/documents", DocumentsView.as_view(), name="documents"),
    path("collections/<str:name>/documents/<str:document_id>", DocumentView.as_view(), name="document"),
]
