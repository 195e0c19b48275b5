"""Texts marked for translation where Django's settings may not be there yet."""

from __future__ import annotations


def gettext_noop(text: str) -> str:
    """The text itself: the name is what tools that collect texts look for. Django's own asks its settings first."""
    return text
