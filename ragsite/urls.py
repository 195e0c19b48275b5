"""Every address of the server."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView

from ragsite.health import HealthView, LiveView
from ragsite.swagger import SwaggerView

urlpatterns = [
    path("health", HealthView.as_view(), name="health"),
    path("health/live", LiveView.as_view(), name="health-live"),
    # Before the collections: `documents/all` is not the document of that name.
    path("", include("ingest_app.urls")),
    path("", include("collections_app.urls")),
    path("", include("search_app.urls")),
    path("", include("rerank_app.urls")),
    path("", include("answers_app.urls")),
    path("", include("connections_app.urls")),
    path("", include("gateway_app.urls")),
    path("", include("mcp_app.urls")),
    path("api/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    path("swagger", SwaggerView.as_view(url_name="schema"), name="swagger"),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]

handler400 = "ragsite.errors.bad_request"
handler403 = "ragsite.errors.forbidden"
handler404 = "ragsite.errors.not_found"
handler500 = "ragsite.errors.crashed"
