"""The room as Django knows it."""

from __future__ import annotations

from django.apps import AppConfig


class AnswersConfig(AppConfig):
    name = "answers_app"
    label = "answers"
    verbose_name = "Answers"
