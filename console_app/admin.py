"""Where Django looks for the admin's classes; importing them registers them."""

from __future__ import annotations

from console_app import (
    access_admin,
    audit_admin,
    chunks_admin,
    collections_admin,
    connections_admin,
    connectors_admin,
    documents_admin,
    jobs_admin,
    people_admin,
    queries_admin,
    testcases_admin,
)

__all__ = [
    "access_admin",
    "audit_admin",
    "chunks_admin",
    "collections_admin",
    "connections_admin",
    "connectors_admin",
    "documents_admin",
    "jobs_admin",
    "people_admin",
    "queries_admin",
    "testcases_admin",
]
