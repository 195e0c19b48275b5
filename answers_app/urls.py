"""The room's addresses."""

from __future__ import annotations

from django.urls import path

from answers_app.api import AnswerView

urlpatterns = [path("api/rag/answer", AnswerView.as_view(), name="answer")]
