"""Loaded before Django's settings are read: the suite runs in Development, with no model and no pool."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

for _name in [name for name in os.environ if "__" in name and not name.startswith("_")]:
    # A developer's own configuration must not change what the tests see.
    if _name.split("__")[0].lower() in {
        "connectionstrings", "vectordatabase", "embedding", "search", "rerank", "llm", "ingestion", "security",
        "telemetry", "retention",
    }:  # fmt: skip
        del os.environ[_name]
os.environ.pop("USE_HYBRID_SEARCH", None)
_data = tempfile.mkdtemp(prefix="ragsite-tests-")
atexit.register(shutil.rmtree, _data, ignore_errors=True)
os.environ.update(
    RAGSITE_ENVIRONMENT="Development",
    RAGSITE_DATA=_data,
    RAGSITE_BIND="127.0.0.1",
    VectorDatabase__PoolSize="0",
    Embedding__Provider="hashing",
    Embedding__Model="hashing-256",
    # A slow moment of the machine must not change what is found; what is cut has tests of its own.
    Search__CutAtBudget="false",
)
