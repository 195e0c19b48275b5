"""The gateway's addresses."""

from __future__ import annotations

from django.urls import path

from gateway_app.attaching_api import AttachView
from gateway_app.collections_api import (
    GatewayCollectionMetadataView,
    GatewayCollectionsView,
    GatewayCollectionView,
    GatewayEmptyingView,
)
from gateway_app.documents_api import (
    GatewayDocumentsView,
    GatewayDocumentView,
    GatewayMetadataValuesView,
    GatewayQueryView,
)
from gateway_app.placement_api import PlacementView
from gateway_app.rerank_api import GatewayRerankView

_ONE = "api/collections/<str:name>"

urlpatterns = [
    path("api/rag/collections/<str:name>/placement", PlacementView.as_view(), name="placement"),
    path("api/connections/<str:connection>/attach", AttachView.as_view(), name="attach"),
    path("api/rerank", GatewayRerankView.as_view(), name="gateway-rerank"),
    path("api/collections", GatewayCollectionsView.as_view(), name="gateway-collections"),
    path(_ONE, GatewayCollectionView.as_view(), name="gateway-collection"),
    path(f"{_ONE}/metadata", GatewayCollectionMetadataView.as_view(), name="gateway-collection-metadata"),
    path(f"{_ONE}/metadata-values", GatewayMetadataValuesView.as_view(), name="gateway-metadata-values"),
    path(f"{_ONE}/query", GatewayQueryView.as_view(), name="gateway-query"),
    path(f"{_ONE}/documents", GatewayDocumentsView.as_view(), name="gateway-documents"),
    # Stands before the document of that name: DELETE here empties the collection.
    path(f"{_ONE}/documents/all", GatewayEmptyingView.as_view(), name="gateway-empty"),
    path(f"{_ONE}/documents/<str:document_id>", GatewayDocumentView.as_view(), name="gateway-document"),
]
