"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from connections_app.api import ConnectionsView, ConnectionTestView, ConnectionView, ProvidersView

urlpatterns = [
    path("api/providers", ProvidersView.as_view(), name="providers"),
    path("api/connections", ConnectionsView.as_view(), name="connections"),
    path("api/connections/<str:connection>", ConnectionView.as_view(), name="connection"),
    path("api/connections/<str:connection>/test", ConnectionTestView.as_view(), name="connection-test"),
]
