"""Models of a few thousand random weights, saved as sentence-transformers saves them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WIDTH = 32
#: Tokens of a text that the model reads, with those that stand around it.
MOST_TOKENS = 24
_LETTERS = string.ascii_lowercase + "абвгдежзиклмнопрстуфхцчшщыьэюя茶咖啡"

TEXTS = (
    "tea",
    "How long does citric acid take to descale a coffee machine?",
    "Чай и кофе",
    "咖啡 🙂 茶",
    "",
    "   ",
    "UPPER lower snake_case_name x=0x7f",
    "a text that is far longer than the model reads: " + "more and more words " * 20,
)


def save_model(
    folder: Path,
    *,
    seed: int = 0,
    pooling: str | tuple[str, ...] = "mean",
    include_prompt: bool = True,
    prompts: dict[str, str] | None = None,
    processing: Any = None,
    more: Callable[[Any], Sequence[Any]] = lambda modules: [modules.Normalize()],
) -> SentenceTransformer:
    """Build a model and save it; `more` makes the modules after the pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(seed)
    _save_transformer(folder / "transformer")
    transformer = modules.Transformer(
        str(folder / "transformer"), max_seq_length=MOST_TOKENS, processing_kwargs=processing
    )
    pooled = modules.Pooling(WIDTH, pooling_mode=pooling, include_prompt=include_prompt)
    model = SentenceTransformer(modules=[transformer, pooled, *more(modules)], prompts=prompts, device="cpu")
    model.save(str(folder / "model"))
    return model


def _save_transformer(folder: Path) -> None:
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LETTERS, *(f"##{letter}" for letter in _LETTERS)]
    words += [*string.digits, *(f"##{digit}" for digit in string.digits), *string.punctuation, "tea", "coffee"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,  # weights that are all alike would make all texts alike
    )
    BertModel(config).save_pretrained(folder)
