"""A11: which cross-encoder a start loads, and what it says."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from core_app import wiring
from core_app.config_loading import load_settings
from ragsite.management.commands import serve
from rerank_app.catalogue import banner


@pytest.fixture(autouse=True)
def noted(settings: Any) -> Iterator[None]:
    settings.RAGSITE_WIRING = "tests.unit.rerank.wiring"
    wiring._pair_scorer.cache_clear()
    yield
    wiring._pair_scorer.cache_clear()


def given(settings: Any, folder: Path, environ: dict[str, str], **file: str) -> None:
    """Settings as they come of the environment and a file."""
    (folder / "appsettings.json").write_text(json.dumps({"Rerank": file}))
    settings.RAGSITE = load_settings(folder=folder, environ=environ).values


def loaded(*, name: str = "", path: str = "") -> str:
    serve._load_cross_encoder(name=name, path=path)
    scorer = wiring.pair_scorer()
    return scorer.model if scorer else ""


ENVIRON = {"CROSS_ENCODER_MODEL": "from/environment"}
FILE = {"CrossEncoder": "from/file", "CrossEncoderPath": "/file"}


@pytest.mark.parametrize(
    ("flags", "environ", "file", "expected"),
    [
        ({"path": "/flag", "name": "from/flag"}, ENVIRON, FILE, "/flag"),
        ({"name": "from/flag"}, ENVIRON, FILE, "from/flag"),
        ({"name": "from/flag"}, {"Rerank__CrossEncoderPath": "/environment"}, FILE, "from/flag"),
        ({}, ENVIRON, FILE, "from/environment"),
        ({}, {"CROSS_ENCODER_MODEL": " "}, FILE, "/file"),
        ({}, {"Rerank__CrossEncoderPath": ""}, FILE, "from/file"),
        ({}, {"Rerank__CrossEncoder": "from/setting"}, {}, "from/setting"),
        ({}, {}, {}, ""),
    ],
)
def test_a11_4_the_first_source_of_the_order_counts(
    settings: Any, tmp_path: Path, flags: dict[str, str], environ: dict[str, str], file: dict[str, str], expected: str
) -> None:
    given(settings, tmp_path, environ, **file)
    assert loaded(**flags) == expected


def test_a11_3_the_variable_loads_what_the_flag_would(settings: Any, tmp_path: Path) -> None:
    given(settings, tmp_path, ENVIRON)
    by_variable = loaded()
    wiring._pair_scorer.cache_clear()
    given(settings, tmp_path, {})
    assert loaded(name="from/environment") == by_variable == "from/environment"


def test_a10_3_and_a11_6_a_start_without_a_model_says_so_and_how_to_get_one(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given(settings, tmp_path, {})
    caplog.set_level(logging.INFO)
    assert loaded() == ""
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, line) for line in banner()
    ]


def test_a11_5_a_failure_is_one_line_with_the_cause_and_a_sentence(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given(settings, tmp_path, {})
    with pytest.raises(CommandError, match=r"^The cross-encoder could not be loaded\.$"):
        loaded(name="broken")
    (line,) = caplog.records
    assert (line.levelno, line.exc_info) == (logging.CRITICAL, None)
    assert line.getMessage() == "the cross-encoder could not be loaded: no such model at this place"
