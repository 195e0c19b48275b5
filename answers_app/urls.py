"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from answers_app.api import AnswerView
from answers_app.research_api import ResearchView

urlpatterns = [
    path("api/rag/answer", AnswerView.as_view(), name="answer"),
    path("api/rag/research", ResearchView.as_view(), name="research"),
]
