"""Models on disk, a migrated database, and processes that are ended whatever happens."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from ragsite.runtime.postgres import DatabaseAddress
from tests.integration.rerank.conftest import cross_encoder, cross_encoder_folder
from tests.integration.rerank.tiny_cross_encoder import save_cross_encoder

__all__ = ["cross_encoder", "cross_encoder_folder"]
ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_SECONDS = 120.0


class Started:
    """A server as a process of its own, its console in a file."""

    def __init__(self, command: tuple[str, ...], *, folder: Path, environ: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._console = folder / f"{self.port}.out"
        own = {name: text for name, text in os.environ.items() if name != "CROSS_ENCODER_MODEL"}
        own |= {"RAGSITE_DATA": str(folder / "data"), "HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"}
        with self._console.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, *command, "--port", str(self.port)],
                cwd=ROOT,
                env={**own, **environ},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)

    @property
    def output(self) -> str:
        return self._console.read_text(encoding="utf-8", errors="replace")

    def answers(self) -> bool:
        """Whether the port is open now."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.2)

    def refuses(self) -> str:
        """Wait for the end of a start that fails; the port must stay closed all the time. What it printed."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self.process.poll() is None:
            assert not self.answers(), self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)
        assert self.process.returncode == 1, self.output
        return self.output

    def end(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            family = psutil.Process(self.process.pid).children(recursive=True)
            self.process.terminate()
            self.process.wait(timeout=60)
            psutil.wait_procs(family, timeout=10)


Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command with the environment given by name."""
    begun: list[Started] = []

    def begin(*command: str, **environ: str) -> Started:
        begun.append(Started(command, folder=tmp_path, environ=environ))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


@pytest.fixture(scope="session")
def database(postgres: DatabaseAddress) -> dict[str, str]:
    """The setting that names a migrated database."""
    setting = {"ConnectionStrings__RagDatabase": postgres.url}
    command = [sys.executable, "manage.py", "migrate", "--noinput"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **setting}, capture_output=True, check=True)
    return setting


@pytest.fixture(scope="session")
def good_model(cross_encoder_folder: Path) -> Path:
    """Has learned that texts with the word of the query come first."""
    return cross_encoder_folder


@pytest.fixture(scope="session")
def three_scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Says three things of a pair."""
    save_cross_encoder(folder := tmp_path_factory.mktemp("three"), steps=0)
    return relabelled(folder / "untrained", folder / "relabelled")


def relabelled(untrained: Path, folder: Path) -> Path:
    from transformers import BertConfig, BertForSequenceClassification

    shutil.copytree(untrained, folder)
    config = BertConfig.from_pretrained(str(untrained))
    config.num_labels = 3
    BertForSequenceClassification(config).save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="session")
def without_head(good_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that scores nothing."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("bare") / "model"
    shutil.copytree(good_model, folder)
    BertModel(BertConfig.from_pretrained(str(good_model))).save_pretrained(str(folder))
    return folder
