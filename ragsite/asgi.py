"""The ASGI application that `serve` runs."""

from __future__ import annotations

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
application = get_asgi_application()

# WhiteNoise opens files synchronously. They are small and local, and Django reads them whole in that case.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
