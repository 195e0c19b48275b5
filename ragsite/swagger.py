"""The page that shows the API to developers in a browser (FR-011)."""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponseRedirect
from django.urls import reverse
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.response import Response

from core_app.errors import NotAuthenticated


class SwaggerView(SpectacularSwaggerSplitView):
    """Swagger UI from this server's own files; whoever has no key is asked to log in."""

    def handle_exception(self, exc: Exception) -> Response | HttpResponseRedirect:  # type: ignore[override]
        if isinstance(exc, NotAuthenticated):
            return redirect_to_login(self.request.get_full_path(), reverse("admin:login"))
        return super().handle_exception(exc)
