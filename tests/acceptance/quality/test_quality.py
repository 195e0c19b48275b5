"""Retrieval quality on a part of SciFact with the real model, against figures that move only on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BASELINE = ROOT / "benchmarks" / "quality" / "baseline.json"
#: Another build of torch rounds otherwise, and may swap neighbours.
TOLERANCE = 0.005


@pytest.mark.timeout(900)
def test_b_and_c_quality_of_each_way_of_searching_is_what_it_was(test_data: Path, tmp_path: Path) -> None:
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    written = tmp_path / "scores.json"
    environ = {
        name: value for name, value in os.environ.items() if "__" not in name and not name.startswith("RAGSITE_")
    }
    command = [sys.executable, "-m", "benchmarks.quality", str(test_data / "scifact"), "--json", str(written)]
    done = subprocess.run(
        [*command, "--documents", "1000"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    measured = json.loads(written.read_text(encoding="utf-8"))
    assert (measured["documents"], measured["queries"]) == (baseline["documents"], baseline["queries"])
    for way, scores in baseline["scores"].items():
        found = {name: measured["scores"][way][name] for name in scores}
        assert found == pytest.approx(scores, abs=TOLERANCE), way
    assert measured["scores"]["hybrid (RRF)"]["ndcg_at_10"] > measured["scores"]["dense"]["ndcg_at_10"]
