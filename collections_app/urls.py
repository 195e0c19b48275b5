"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from collections_app.api import CollectionMetadataView, CollectionsView, CollectionView

urlpatterns = [
    path("collections", CollectionsView.as_view(), name="collections"),
    path("collections/<str:name>", CollectionView.as_view(), name="collection"),
    path("collections/<str:name>/metadata", CollectionMetadataView.as_view(), name="collection-metadata"),
]
