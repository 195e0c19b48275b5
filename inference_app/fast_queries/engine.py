"""A query's vector by onnxruntime, checked against torch before it is used."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core_app.ports import Vectors
from inference_app.fast_queries.exporting import export_beside
from inference_app.fast_queries.files import exported_file, is_trusted
from inference_app.fast_queries.models import (
    INPUTS,
    Unusable,
    check_exportable,
    digest,
    model_inputs,
    query_prompt,
    transformer_of,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)

#: Longer ones are texts, not queries: torch is no slower there, and takes less memory.
MOST_TOKENS = 512
#: Cosine to torch's vector that every text of the check must reach; and how far its length may be off.
LEAST_AGREEMENT, _LENGTH_TOLERANCE = 0.9999, 1e-3
#: A query has too few tokens to keep more cores busy.
_MOST_THREADS = 4
#: Lengths of one token to beyond what any graph is given, several scripts, and next to nothing.
CHECKED = (
    "tea",
    "How long does citric acid take to descale a coffee machine?",
    "E-1042: hook.player.connected() raised ValueError [code=0x7f], snake_case_name & moduleControllerCreate",
    "Сколько времени занимает очистка кофемашины? ЁЖИК",
    "エスプレッソマシンの掃除方法 咖啡机怎么清洗 كيف أنظف آلة القهوة कॉफी 🙂 Straße ﬁne İstanbul e\u0301",
    "",
    " \t\n ",
    "Rinse the tank with fresh water twice before the next cup, and wait until it has cooled down. " * 5,
    "Every part of the machine is cleaned once a week with warm water, soap and a soft cloth. " * 60,
)


class FastQueries:
    """One exported model with its tokenizer. Threads may share it."""

    def __init__(self, path: Path, *, model: SentenceTransformer, threads: int) -> None:
        onnxruntime = _onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or min(_MOST_THREADS, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors; they are raised as well
        # Threads that wait by spinning would take the cores of whoever else works here.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._names = [given.name for given in self._session.get_inputs()]
        if not set(self._names) <= set(INPUTS):
            raise Unusable("its export asks for other things than tokens")
        self._tokenizer = _own_tokenizer(model)
        self._prompt = query_prompt(model)

    def tokens(self, text: str) -> dict[str, list[int]]:
        """What the model is given, by the names of its inputs."""
        encoding = self._tokenizer.encode(self._prompt + text)
        given = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        return given | {"token_type_ids": encoding.type_ids}

    def embed(self, text: str) -> Vectors | None:
        """The vector, shape (dimension,); None for a text of no tokens or of too many."""
        tokens = self.tokens(text)
        if not 0 < len(tokens["input_ids"]) <= MOST_TOKENS:
            return None
        given = {name: np.array([tokens[name]], dtype=np.int64) for name in self._names}
        (vectors,) = self._session.run(None, given)
        return np.asarray(vectors[0], dtype=np.float32)


def prepare(*, model: SentenceTransformer, name: str, location: str, data_folder: Path, threads: int) -> FastQueries:
    """The fast way of a model that is loaded, and lies at `location`. May take a minute: the first time it is exported.

    Raises Unusable with the reason; the log may have more.
    """
    _onnxruntime()  # else a good file would be taken for a bad one
    check_exportable(model)
    marked = digest(model)
    path = exported_file(data_folder=data_folder, model=name, digest=marked)
    if is_trusted(path):
        try:
            return _checked(path, model=model, threads=threads)
        except Exception:
            logger.warning("the export of %s cannot be used; it is made anew", name, exc_info=True)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unusable(f"its bad export cannot be removed ({error.strerror})") from error
    export_beside(location=location, path=path, digest=marked)
    return _checked(path, model=model, threads=threads)


def _checked(path: Path, *, model: SentenceTransformer, threads: int) -> FastQueries:
    fast = FastQueries(path, model=model, threads=threads)
    for text in CHECKED:
        _compare(fast, model, text)
    return fast


def _compare(fast: FastQueries, model: SentenceTransformer, text: str) -> None:
    """Raise Unusable where torch is given other tokens, or answers something else."""
    tokens = fast.tokens(text)
    for name, tensor in model_inputs(model, text).items():
        if tensor[0].tolist() != tokens[name]:
            raise Unusable("its tokenizer cuts differently than torch is given it")
    found = fast.embed(text)
    if found is None:
        return
    expected = np.asarray(model.encode_query(text, show_progress_bar=False, convert_to_numpy=True), dtype=np.float32)
    if found.shape != expected.shape:
        raise Unusable("its export gives vectors of another length")
    ours, torchs = float(np.linalg.norm(found)), float(np.linalg.norm(expected))
    cosine = float(found @ expected) / (ours * torchs) if ours and torchs else float(ours == torchs)
    # Put so that a NaN fails.
    if not (cosine >= LEAST_AGREEMENT and abs(ours - torchs) <= _LENGTH_TOLERANCE * torchs):
        raise Unusable(f"its export is not exact: a cosine of {cosine:.6f} to torch")


def _onnxruntime() -> Any:
    """The package, which has no types. Imported where queries are embedded, and nowhere else."""
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        raise Unusable("onnxruntime cannot be imported") from error


def _own_tokenizer(model: SentenceTransformer) -> Any:
    """A copy that cuts as torch's does and never pads. The model's own is not for many threads."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - comes with torch

    transformer = transformer_of(model)
    theirs: Any = transformer.tokenizer
    tokenizer = Tokenizer.from_str(theirs.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    length = transformer.query_length or transformer.max_seq_length
    if length is not None and length < 1_000_000:  # more is transformers' way to say: any
        tokenizer.enable_truncation(length, direction=theirs.truncation_side)
    return tokenizer
