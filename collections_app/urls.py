"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from collections_app.api import CollectionMetadataView, CollectionsView, CollectionView
from collections_app.documents_api import DocumentsView, DocumentView, MetadataValuesView

urlpatterns = [
    path("collections", CollectionsView.as_view(), name="collections"),
    path("collections/<str:name>", CollectionView.as_view(), name="collection"),
    path("collections/<str:name>/metadata", CollectionMetadataView.as_view(), name="collection-metadata"),
    path("collections/<str:name>/metadata-values", MetadataValuesView.as_view(), name="metadata-values"),
    path("collections/<str:name>/documents", DocumentsView.as_view(), name="documents"),
    path("collections/<str:name>/documents/<str:document_id>", DocumentView.as_view(), name="document"),
]
