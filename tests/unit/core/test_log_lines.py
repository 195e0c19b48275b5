"""Log lines carry the trace of an error and nothing that people sent."""

from __future__ import annotations

import logging
from logging.config import dictConfig
from typing import Literal

import pytest
from django.core.exceptions import SuspiciousOperation

from ragsite.logs import logging_settings


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_trace_shows_no_local_variables(form: Literal["console", "json"], capsys: pytest.CaptureFixture[str]) -> None:
    """A key or a text that a function holds must not end up in the log because something else failed."""
    settings = logging_settings(level="INFO", form=form)
    # A logger of its own: the root keeps what the suite has set up.
    settings["loggers"] = {"trace-test": {"handlers": ["stderr"], "level": "INFO", "propagate": False}}
    del settings["root"]
    dictConfig({**settings, "incremental": False})

    def recognise(presented: str) -> None:
        raise RuntimeError("the key could not be checked")

    try:
        recognise("".join(["hunter", "2"]))
    except RuntimeError:
        logging.getLogger("trace-test").exception("request failed")
    written = capsys.readouterr().err
    assert "RuntimeError: the key could not be checked" in written
    assert "in recognise" in written
    assert "hunter2" not in written


def test_a_refused_request_is_a_line_without_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    settings = logging_settings(level="INFO", form="console")
    name = "django.security.SuspiciousOperation"
    settings["loggers"] = {name: {"handlers": ["stderr"], "level": "INFO", "propagate": False}}
    del settings["root"]
    dictConfig({**settings, "incremental": False})
    try:
        raise SuspiciousOperation("NUL in the address")
    except SuspiciousOperation as error:
        logging.getLogger(name).error(str(error), exc_info=error)
    written = capsys.readouterr().err
    assert "warning" in written
    assert "NUL in the address" in written
    assert "Traceback" not in written
