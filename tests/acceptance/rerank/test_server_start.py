"""A11 and A12: server.py with a cross-encoder, with none, and with one that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.rerank.conftest import Start, Started
from tests.acceptance.rerank.loopback_hub import NAME, hub

DOCUMENTS = [{"id": f"d{n}", "text": text} for n, text in enumerate(("tea rye", "red fox", "owl", "jam pie hat fox"))]


def health(server: Started) -> dict[str, object]:
    server.until(lambda: server.answers() and server.http.get("/health").status_code == 200)
    answer: dict[str, object] = server.http.get("/health").json()
    return answer


def order(server: Started) -> list[str]:
    answer = server.http.post("/rerank", json={"query": "fox", "documents": DOCUMENTS})
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["reranked"]]


def test_a11_2_and_a12_1_a_folder_is_loaded_and_orders(
    start: Start, database: dict[str, str], good_model: Path
) -> None:
    """The path wins over a name that could not be loaded (A11.4)."""
    server = start("server.py", "--cross-encoder-path", str(good_model), "--cross-encoder", "no/such-model", **database)
    assert health(server)["cross_encoder"] == {"model": str(good_model), "status": "loaded"}
    assert {*order(server)[:2]} == {"d1", "d3"}
    assert f"cross-encoder {good_model} loaded" in server.output


def test_a11_6_and_a12_2_without_a_model_it_starts_and_says_so(start: Start, database: dict[str, str]) -> None:
    server = start("server.py", **database)
    assert "cross_encoder" not in health(server)
    answer = server.http.post("/rerank", json={"query": "fox", "documents": DOCUMENTS})
    assert (answer.status_code, answer.json()["code"]) == (503, "cross_encoder_not_loaded")
    assert "cross-encoder is disabled" in server.output
    assert "--list-reranker-models" in server.output


def test_a11_1_a_name_is_downloaded_once_from_the_hub(start: Start, database: dict[str, str], good_model: Path) -> None:
    with hub(good_model) as (address, asked):
        online = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
        server = start("server.py", "--cross-encoder", NAME, **database, **online)
        assert health(server)["cross_encoder"] == {"model": NAME, "status": "loaded"}
        assert {*order(server)[:2]} == {"d1", "d3"}
        assert f"cross-encoder {NAME} loaded" in server.output
        weights = [line for line in asked if line.startswith("GET") and line.endswith("/model.safetensors")]
        assert len(weights) == 1
        server.end()
    # A11.3: by the variable it is the same; what was downloaded is in the cache.
    again = start("server.py", **database, CROSS_ENCODER_MODEL=NAME)
    assert health(again)["cross_encoder"] == {"model": NAME, "status": "loaded"}
    assert {*order(again)[:2]} == {"d1", "d3"}


def readable(output: str) -> str:
    """The last line of a start that failed: one log line tells the cause, and no trace is anywhere."""
    assert "Traceback" not in output
    assert output.count("the cross-encoder could not be loaded") == 1
    last = output.splitlines()[-1]
    assert last.startswith("CommandError: The cross-encoder ")
    return last


def test_a11_5_a_folder_that_is_not_there_ends_the_start(start: Start, tmp_path: Path) -> None:
    server = start("server.py", "--cross-encoder-path", str(tmp_path / "none"))
    assert "there is no such folder. Check the path." in readable(server.refuses())


def test_a11_5_an_empty_folder_ends_the_start(start: Start, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    server = start("server.py", "--cross-encoder-path", str(tmp_path / "empty"))
    assert "Check that the folder holds a whole model." in readable(server.refuses())


def test_a11_5_a_model_without_a_head_ends_the_start(start: Start, without_head: Path) -> None:
    server = start("server.py", "--cross-encoder-path", str(without_head))
    assert "has no head that scores pairs" in readable(server.refuses())


def test_a11_5_a_model_of_three_scores_ends_the_start(start: Start, three_scores: Path) -> None:
    server = start("server.py", "--cross-encoder-path", str(three_scores))
    assert "it gives 3 scores a pair, not one." in readable(server.refuses())


def test_a11_5_a_name_that_is_not_in_the_cache_ends_an_offline_start(start: Start) -> None:
    server = start("server.py", CROSS_ENCODER_MODEL="no-one/nothing")
    assert "Check the name and the network" in readable(server.refuses())


def test_a11_5_a_name_that_the_hub_does_not_know_ends_the_start(start: Start, good_model: Path) -> None:
    with hub(good_model) as (address, asked):
        server = start("server.py", "--cross-encoder", "no-one/nothing", HF_ENDPOINT=address, HF_HUB_OFFLINE="0")
        output = server.refuses()
    assert "Check the name and the network" in readable(output)
    assert "no-one/nothing" in output
    assert any("no-one/nothing" in line for line in asked)


@pytest.mark.parametrize("flags", [("--cross-encoder-path", "none")])
def test_a11_5_script_server_ends_too(start: Start, tmp_path: Path, flags: tuple[str, ...]) -> None:
    server = start("-m", "ragsite.up", "--no-demo", "--data", str(tmp_path / "data"), *flags)
    output = server.refuses()
    assert "Ragsite is ready" not in output
    assert "Traceback" not in output
    assert "there is no such folder. Check the path." in output


def test_a11_2_script_server_is_ready_with_a_model(start: Start, tmp_path: Path, good_model: Path) -> None:
    flags = ("--no-demo", "--data", str(tmp_path / "data"), "--cross-encoder-path", str(good_model))
    server = start("-m", "ragsite.up", *flags)
    server.until(lambda: "Ragsite is ready" in server.output)
    assert health(server)["cross_encoder"] == {"model": str(good_model), "status": "loaded"}
    assert {*order(server)[:2]} == {"d1", "d3"}
