"""Where Django looks for the admin's classes; importing them registers them."""

from __future__ import annotations

from console_app import access_admin, collections_admin, connectors_admin, documents_admin, jobs_admin, queries_admin

__all__ = ["access_admin", "collections_admin", "connectors_admin", "documents_admin", "jobs_admin", "queries_admin"]
