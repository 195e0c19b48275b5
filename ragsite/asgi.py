"""The ASGI application that `serve` runs, and any other ASGI server may."""

from __future__ import annotations

import logging
import os
import warnings

import django

from core_app.config import Search
from core_app.wiring import app_settings
from ragsite.body_limit import BodyLimit
from ragsite.handler import OneThreadHandler

logger = logging.getLogger(__name__)


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
