"""`python -m inference_app.fast_queries.export_main LOCATION FILE DIGEST PARENT`: exports one model and ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

from inference_app.fast_queries.exporting import write_graph
from inference_app.fast_queries.files import store
from inference_app.fast_queries.models import digest

_PR_SET_PDEATHSIG = 1


def main(location: str, path: Path, expected: str, parent: int) -> None:
    _follow(parent)
    os.umask(0o077)
    os.nice(10)  # searches come first

    def write(part: Path) -> None:
        import torch  # noqa: PLC0415 - not before it is known that there is something to do
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - as above

        torch.set_num_threads(1)
        # Plain arithmetic instead of torch's own kernels: onnxruntime recognises it and has better ones.
        model = SentenceTransformer(location, device="cpu", model_kwargs={"attn_implementation": "eager"})
        if digest(model) != expected:
            sys.exit("the model has changed since the server loaded it")
        write_graph(model, part)

    store(path, write=write)


def _follow(parent: int) -> None:
    """Never outlive who asked. Ctrl-C and a stop reach the whole group; the server's own end is what counts."""
    for received in (signal.SIGINT, signal.SIGTERM):
        signal.signal(received, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
