"""How django-unfold looks and what its sidebar offers. Settings import this, so it imports no model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console_app.permissions import allows


def _asset(path: str) -> Callable[[HttpRequest], str]:
    """Resolved per request: static files are not set up yet when settings are read."""
    return lambda _request: static(path)


def _within(page: str, *, but: tuple[str, ...] = ()) -> Callable[[HttpRequest], bool]:
    """Whether the request is for `page` or below it, leaving out pages that have an entry of their own."""

    def active(request: HttpRequest) -> bool:
        inside = request.path.startswith(str(reverse_lazy(page)))
        return inside and not any(request.path.startswith(str(reverse_lazy(other))) for other in but)

    return active


def _entry(title: Promise, icon: str, page: str, ability: str = "", *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    entry: dict[str, Any] = {"title": title, "icon": icon, "link": reverse_lazy(page), "active": _within(page, but=but)}
    return {**entry, "permission": allows(ability)} if ability else entry


_UPLOAD = "admin:ingest_job_add"
_QUERY = "admin:collections_collection_query"
_RERANK = "admin:collections_collection_rerank"

_NAVIGATION = [
    {
        "items": [
            {"title": _("Home"), "icon": "home", "link": reverse_lazy("admin:index")},
            _entry(_("Try a query"), "search", _QUERY, "query"),
            _entry(_("Compare two texts"), "swap_vert", _RERANK, "query"),
            _entry(_("Upload files"), "upload_file", _UPLOAD, "upload"),
        ],
    },
    {
        "title": _("Content"),
        "separator": True,
        "items": [
            _entry(
                _("Collections"),
                "folder_open",
                "admin:collections_collection_changelist",
                "view_collections",
                but=(_QUERY, _RERANK),
            ),
            _entry(_("Documents"), "description", "admin:collections_document_changelist", "view_documents"),
            _entry(_("Chunks"), "segment", "admin:collections_chunk_changelist", "view_chunks"),
            _entry(_("Connectors"), "sync", "admin:ingest_connector_changelist", "view_connectors"),
            _entry(_("Jobs"), "pending_actions", "admin:ingest_job_changelist", "view_jobs", but=(_UPLOAD,)),
            _entry(_("Test cases"), "fact_check", "admin:search_testcase_changelist", "view_tests"),
            _entry(_("Queries"), "manage_search", "admin:search_querylog_changelist", "view_queries"),
        ],
    },
    {
        "title": _("Access"),
        "separator": True,
        "items": [
            _entry(_("Connections"), "hub", "admin:connections_connection_changelist", "view_connections"),
            _entry(_("API keys"), "key", "admin:access_apikey_changelist", "view_keys"),
            _entry(_("Users"), "person", "admin:access_user_changelist", "view_users"),
            _entry(_("Groups"), "group", "admin:auth_group_changelist", "view_groups"),
            _entry(_("Audit log"), "history", "admin:access_auditentry_changelist", "view_audit"),
        ],
    },
    {
        "title": _("Developers"),
        "separator": True,
        "items": [{"title": _("REST API"), "icon": "api", "link": reverse_lazy("swagger")}],
    },
]

#: Tailwind's indigo: white on 600 and 400 on the dark ground are both readable (WCAG AA).
_INDIGO = {
    "50": "oklch(96.2% .018 272.314)",
    "100": "oklch(93% .034 272.788)",
    "200": "oklch(87% .065 274.039)",
    "300": "oklch(78.5% .115 274.713)",
    "400": "oklch(67.3% .182 276.935)",
    "500": "oklch(58.5% .233 277.117)",
    "600": "oklch(51.1% .262 276.966)",
    "700": "oklch(45.7% .24 277.023)",
    "800": "oklch(39.8% .195 277.366)",
    "900": "oklch(35.9% .144 278.697)",
    "950": "oklch(25.7% .09 281.288)",
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Ragsite",
    "SITE_HEADER": "Ragsite",
    "SITE_SUBHEADER": _("Documents in, passages out"),
    "SITE_SYMBOL": "travel_explore",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _asset("console/favicon.svg")}],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [_asset("console/console.css")],
    "SCRIPTS": [_asset("console/console.js")],
    "COLORS": {"primary": _INDIGO},
    "DASHBOARD_CALLBACK": "console_app.home.dashboard",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": _NAVIGATION},
}
