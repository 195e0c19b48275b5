"""The general embedder: any sentence-transformers model, from a folder, a package or the hub.

Documents are embedded by torch. So are queries until `warm_up` has found that onnxruntime gives the same vectors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from core_app.config import Embedding
from core_app.errors import Unavailable
from core_app.ports import QueryEngine, Vectors
from core_app.wiring import data_folder
from inference_app.fast_queries.models import OnGpu, Unusable
from inference_app.locating import locate_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

    from inference_app.fast_queries.engine import FastQueries

logger = logging.getLogger(__name__)


class SentenceTransformerEmbedder:
    """Loads its model at first use, once a process; importing torch takes seconds."""

    def __init__(self, section: Embedding) -> None:
        self._section = section
        self._loading = threading.Lock()
        self._loaded: SentenceTransformer | None = None
        self._fast: FastQueries | None = None
        self._why_torch = "this process has not prepared anything else"
        self._is_fallback = False
        self._is_loading = False

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

    @property
    def batch_size(self) -> int:
        return self._section.batch_size

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        encoded = self._transformer().encode_document(
            list(texts),
            batch_size=self._section.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(encoded, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        fast, failure = self._fast, None
        if fast is not None:
            try:
                found = fast.embed(text)
            except Exception as error:  # noqa: BLE001 - whatever onnxruntime raises, torch answers
                failure = error
            else:
                if found is not None:
                    return found
        encoded = self._transformer().encode_query(text, show_progress_bar=False, convert_to_numpy=True)
        if failure is not None:  # and torch could: the text is not to blame
            logger.error("onnxruntime failed; torch embeds queries from now on", exc_info=failure)
            self._fast = None
            self._fall_back("onnxruntime failed; the log has the cause")
        return np.asarray(encoded, dtype=np.float32)

    @property
    def query_engine(self) -> QueryEngine:
        """What embeds queries now, and why."""
        if self._fast is not None:
            return QueryEngine(name="onnxruntime")
        if self._is_loading:
            return QueryEngine(name="torch", reason="the model is being loaded", is_loading=True)
        return QueryEngine(name="torch", reason=self._why_torch, is_fallback=self._is_fallback)

    def _fall_back(self, reason: str) -> None:
        self._why_torch, self._is_fallback = reason, True

    def warm_up(self) -> None:
        self._is_loading = True
        try:
            self.embed_query("warm up")  # torch answers while the rest takes its time
        finally:
            self._is_loading = False
        if self._section.query_engine == "torch":
            self._why_torch = "Embedding:QueryEngine says so"
            return
        try:
            self._fast = self._prepared()
        except OnGpu as error:
            self._why_torch = str(error)
        except Unusable as error:
            self._fall_back(str(error))
        except Exception:
            logger.exception("queries could not be prepared for onnxruntime")
            self._fall_back("preparing it failed; the log has the cause")
        engine = self.query_engine
        level = logging.WARNING if engine.is_fallback else logging.INFO
        logger.log(level, "queries are embedded by %s%s", engine.name, f": {engine.reason}" if engine.reason else "")

    def _prepared(self) -> FastQueries:
        from inference_app.fast_queries.engine import prepare  # noqa: PLC0415 - only who warms up needs it

        return prepare(
            model=self._transformer(),
            name=self.model,
            location=locate_model(self.model),
            data_folder=data_folder(),
            threads=self._section.threads,
        )

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
