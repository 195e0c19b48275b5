"""Commands as a user runs them: what they print, and the sentence of a refusal."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def output_of(*command: str) -> str:
    written = io.StringIO()
    call_command(*command, stdout=written, stderr=written)
    return written.getvalue()


def refused(*command: str) -> str:
    with pytest.raises(CommandError) as caught:
        output_of(*command)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence
