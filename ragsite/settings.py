"""Django's settings, derived from the application's own (`appsettings.json` and the environment)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from console_app.unfold_settings import UNFOLD as CONSOLE
from core_app.config import BIND_VARIABLE
from core_app.config_loading import ConfigurationError, load_settings
from core_app.where.schema import components as where_components
from ragsite import __version__
from ragsite.embedded import data_folder, running_server, secret_key
from ragsite.logs import logging_settings

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_folder(root=BASE_DIR, environ=os.environ)

try:
    LOADED = load_settings(folder=BASE_DIR)
except ConfigurationError as error:
    sys.exit("\n".join(["The configuration cannot be used:", *(f"  {line}" for line in error.lines)]))

RAGSITE = LOADED.values
RAGSITE_VERSION = __version__
#: Empty where the server was not started by `serve`: nothing is then known of who can reach it.
RAGSITE_BIND = os.environ.get(BIND_VARIABLE, "")
RAGSITE_WIRING = "ragsite.wiring"

_embedded = running_server(DATA_DIR) if LOADED.is_development else {}


def _database() -> dict[str, Any]:
    given = RAGSITE.connection_strings.rag_database
    dsn = given.get_secret_value() if given else _embedded.get("rag_database", "")
    try:
        parts = conninfo_to_dict(dsn)
    except Exception:  # noqa: BLE001 - whatever libpq says of it may quote the password
        sys.exit("ConnectionStrings:RagDatabase: not a connection string; use postgresql://user:password@host/db.")
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    options: dict[str, Any] = {key: value for key, value in parts.items() if key not in known}
    options.setdefault("connect_timeout", 10)
    if RAGSITE.vector_database.pool_size:
        options["pool"] = {"min_size": 1, "max_size": RAGSITE.vector_database.pool_size, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{name: str(parts.get(key) or "") for key, name in known.items()},
        "NAME": str(parts.get("dbname") or "ragsite"),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "access.User"
AUTHENTICATION_BACKENDS = ["access_app.backends.ReachBackend"]

SECRET_KEY = RAGSITE.security.secret_key.get_secret_value() if RAGSITE.security.secret_key else secret_key(DATA_DIR)
DEBUG = False
# This machine itself is always answered: the supervisor asks it whether the server is well.
ALLOWED_HOSTS = [*RAGSITE.security.allowed_hosts, "localhost", "127.0.0.1", "[::1]"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = RAGSITE.security.secure_cookies
SESSION_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

INSTALLED_APPS = [
    "ragsite",
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "core_app",
    "access_app",
    "connections_app",
    "inference_app",
    "collections_app",
    "rerank_app",
    "stores_app",
    "ingest_app",
    "search_app",
    "answers_app",
    "gateway_app",
    "mcp_app",
    "console_app",
]

MIDDLEWARE = [
    "ragsite.middleware.RawPathMiddleware",
    "ragsite.middleware.RequestContextMiddleware",
    "ragsite.middleware.ContentEncodingMiddleware",
    "ragsite.middleware.FormMiddleware",
    "ragsite.middleware.BodyLengthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "ragsite.middleware.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "ragsite.middleware.ConsoleLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "access_app.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "ragsite.errors.stale_form"
ROOT_URLCONF = "ragsite.urls"
ASGI_APPLICATION = "ragsite.asgi.application"
LOGIN_REDIRECT_URL = "admin:index"
LOGIN_URL = "admin:login"
UNFOLD = CONSOLE

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Serve straight from the packages: nothing has to be collected before a start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# A translation is a folder below `locale/` and a line here. The API is not translated: see ConsoleLanguageMiddleware.
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Templates group numbers themselves (`|thousands`): done everywhere, it would put commas into ids and limits, too.
USE_THOUSAND_SEPARATOR = False
TIME_ZONE = "UTC"
USE_TZ = True

# Of a form only what is no file: files go to disk above 2 MB, and a whole body is bounded as it arrives.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = RAGSITE.ingestion.max_files
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["access_app.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["access_app.authentication.HasVerb"],
    "DEFAULT_PARSER_CLASSES": ["core_app.api.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "ragsite.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
    # JSON is the one format there is; `?format=` is a parameter like any other that is not known.
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Ragsite",
    "DESCRIPTION": "A self-hosted retrieval server: documents in, passages out.",
    "VERSION": RAGSITE_VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["access_app.authentication.MayReadDocs"],
    "SERVE_AUTHENTICATION": [
        "access_app.authentication.OptionalKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "",
    "APPEND_COMPONENTS": {"schemas": where_components()},
    "ENUM_NAME_OVERRIDES": {
        "HealthStatusEnum": ("healthy", "unhealthy"),
        "LiveStatusEnum": ("alive",),
        "DeletedStatusEnum": ("deleted",),
        "UpdatedStatusEnum": ("updated",),
        "EmptiedStatusEnum": ("emptied",),
        "DryRunStatusEnum": ("dry_run",),
        "JobKindEnum": "ingest_app.models.Job.Kind",
        "JobStateEnum": "ingest_app.models.Job.State",
        "ConnectorKindEnum": "ingest_app.models.Connector.Kind",
        "ItemStateEnum": "ingest_app.models.Item.State",
        "DocumentStateEnum": "collections_app.models.Document.State",
        "ProviderKindEnum": ("store", "embeddings", "chat"),
        "RerankApiVersionEnum": ("1", "2"),
        "TeiErrorTypeEnum": "rerank_app.tei.ERROR_TYPES",
    },
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "displayRequestDuration": True, "persistAuthorization": False},
}

_broker = RAGSITE.connection_strings.broker
CELERY_BROKER_URL = _broker.get_secret_value() if _broker else _embedded.get("broker", "memory://")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

LOGGING = logging_settings(level=RAGSITE.telemetry.log_level, form=RAGSITE.telemetry.log_format)
