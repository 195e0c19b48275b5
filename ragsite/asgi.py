"""The ASGI application that `serve` runs, and any other ASGI server may."""

from __future__ import annotations

import logging
import os
import warnings

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http.response import HttpResponseBase

from core_app.config import Search
from core_app.wiring import app_settings
from ragsite.body_limit import BodyLimit

logger = logging.getLogger(__name__)


class OneThreadHandler(ASGIHandler):
    """Django's handler, whose middlewares and view run in one thread from beginning to end, as under WSGI.

    All of ours are synchronous. Django's handler would go back to the event loop between them, twice for
    each middleware, which took longer than most requests.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """One synchronous chain."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: ASGIRequest) -> HttpResponseBase:  # type: ignore[override]
        """The answer, made in the request's own thread."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


def log_search_configuration(section: Search) -> None:
    """Say once a process how it searches (B7.1)."""
    logger.info(
        "hybrid search is %s",
        "enabled" if section.use_hybrid_search else "disabled: meaning alone",
        extra={"hybrid": section.use_hybrid_search, **section.model_dump(exclude={"use_hybrid_search"})},
    )


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
django.setup(set_prefix=False)
log_search_configuration(app_settings().search)
application = BodyLimit(OneThreadHandler(), largest=app_settings().ingestion.max_request_bytes)

# WhiteNoise opens files synchronously. They are small and local, and Django reads them whole in that case.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
