"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from ingest_app.api import DocumentsView, JobCancelView, JobRetryView, JobsView, JobView, SourcesView

urlpatterns = [
    path("collections/<str:name>/documents", DocumentsView.as_view(), name="ingest"),
    path("collections/<str:name>/sources", SourcesView.as_view(), name="sources"),
    path("jobs", JobsView.as_view(), name="jobs"),
    path("jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/cancel", JobCancelView.as_view(), name="job-cancel"),
    path("jobs/<uuid:job_id>/retry", JobRetryView.as_view(), name="job-retry"),
]
