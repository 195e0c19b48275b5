"""Where a call of the gateway goes: to the storage API's own view, or to a connection's provider."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from access_app.api import ApiView
from connections_app.services import BUILT_IN
from core_app.api import ErrorSerializer

PARAMETER = "service"
SERVICE = OpenApiParameter(
    PARAMETER, str, description=f"The connection to ask; without one, or as `{BUILT_IN}`, this server's own store."
)
ERRORS = dict.fromkeys((400, 401, 403, 404, 409, 413, 415, 500, 502, 503, 504), ErrorSerializer)


class GatewayView(ApiView):
    """A call of the storage API. Without a service it is answered by that API's own view, in every detail."""

    #: The storage API's view of the same call.
    here: ClassVar[type[ApiView]]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Hand on what is for the built-in store, before anything of the body is read."""
        if request.GET.getlist(PARAMETER) in ([], [BUILT_IN]):
            rest = request.GET.copy()
            rest.pop(PARAMETER, None)
            request.GET = rest  # type: ignore[assignment]
            return self.here.as_view()(request, *args, **kwargs)
        return super().dispatch(request, *args, **kwargs)

    @staticmethod
    def service(request: Request) -> str:
        """The connection that the request names."""
        return request.query_params[PARAMETER]
