"""The ASGI application that `serve` runs."""

from __future__ import annotations

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

from core_app.wiring import app_settings
from ragsite.body_limit import BodyLimit

application = BodyLimit(get_asgi_application(), largest=app_settings().ingestion.max_request_bytes)

# WhiteNoise opens files synchronously. They are small and local, and Django reads them whole in that case.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
