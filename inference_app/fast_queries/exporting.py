"""Exporting a model, in a process of its own: it takes seconds and the memory of a second model.

Tracing in a thread would stop every other thread of the server, and torch keeps its state for the whole process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from inference_app.fast_queries.models import INPUTS, Unusable, model_inputs

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

logger = logging.getLogger(__name__)

#: A model of 100 MB takes ten seconds on a machine that has nothing else to do.
_PATIENCE_SECONDS = 900
_PROJECT_ROOT = Path(__file__).resolve().parents[2]
#: Of our own environment; no secrets. Where models lie, and how libraries are found.
_ENVIRONMENT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "VIRTUAL_ENV", "XDG_CACHE_HOME"),
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_MODULES_CACHE", "TRANSFORMERS_CACHE"),
    "SENTENCE_TRANSFORMERS_HOME",
)
_OPSET = 17
_EXAMPLE = "A few words, so that no length is taken for the only one."


def export_beside(*, location: str, path: Path, digest: str) -> None:
    """Make the file in a child process. Raises Unusable, with the cause in the log."""
    environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
    # The model was loaded a moment ago: whatever it needs is here.
    environment |= {"PYTHONPATH": str(_PROJECT_ROOT), "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    module = "inference_app.fast_queries.export_main"
    try:
        done = subprocess.run(  # noqa: S603 - our own module and our own settings
            # Without -P a folder that a server is started in could bring modules of its own.
            [sys.executable, "-P", "-m", module, location, str(path), digest, str(os.getpid())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unusable("its export took too long") from None
    except OSError as error:
        raise Unusable(f"its export could not be started ({error.strerror})") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        logger.warning("the export ended with status %s: %s", done.returncode, said[-2000:])
        raise Unusable("its export failed; the log has the cause")


def write_graph(model: SentenceTransformer, path: Path) -> None:
    """Write tokens to embedding as one graph, for one text of any length. Raises whatever torch raises."""
    import torch  # noqa: PLC0415 - heavy

    given = model_inputs(model, _EXAMPLE)
    names = [name for name in INPUTS if name in given]

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Tensor) -> Tensor:
            embedded: Tensor = self.model(dict(zip(names, tensors, strict=True)))["sentence_embedding"]
            return embedded

    model.eval()
    with torch.no_grad(), warnings.catch_warnings():
        # Of tracing: that lengths may be taken for constants. The check of what came out tells whether they were.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Whole(),
            tuple(given[name] for name in names),
            path,
            input_names=names,
            output_names=["embedding"],
            dynamic_axes={name: {1: "tokens"} for name in names},
            opset_version=_OPSET,
            # The newer way needs a compiler's worth of packages, and gains nothing here.
            dynamo=False,
        )
