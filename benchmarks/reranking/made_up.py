"""Cross-encoders that have learned nothing, and texts for them: how long they take is as with real ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

QUERY_WORDS = 8
PASSAGE_WORDS = 200
#: The part of the words that are two tokens. BERT's tokenizer makes about 1.2 tokens of a word of plain prose, and
#: 1.5 of a word of papers.
_IN_TWO = 0.4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SPECIAL = ("[UNK]", "[PAD]", "[CLS]", "[SEP]")


def config_of(shape: Mapping[str, Any]) -> Any:
    """The configuration of a cross-encoder of this shape, as rerank_app/reranker_models.toml has it."""
    from transformers import AutoConfig

    return AutoConfig.for_model(
        shape["kind"],
        vocab_size=shape["vocabulary"],
        hidden_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=4 * shape["hidden"],
        max_position_embeddings=shape["positions"],
        type_vocab_size=2 if shape["kind"] == "bert" else 1,
        pad_token_id=_SPECIAL.index("[PAD]"),
        num_labels=1,
    )


def save_model(folder: Path, shape: Mapping[str, Any]) -> float:
    """Save one of this shape with random weights; how many millions of them it has."""
    from transformers import AutoModelForSequenceClassification

    config = config_of(shape)
    model = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]  # of transformers
    model.save_pretrained(str(folder))
    _tokenizer(512).save_pretrained(str(folder))
    return float(model.num_parameters()) / 1e6


def _words() -> tuple[list[str], list[str]]:
    """Whole words, and ends that are tokens of their own."""
    draw = random.Random(1)
    whole = sorted({"".join(draw.choices(_LETTERS, k=5)) for _ in range(5000)})
    return whole, [one + other for one in _LETTERS for other in _LETTERS]


def _tokenizer(longest: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    whole, ends = _words()
    vocabulary = {token: number for number, token in enumerate([*_SPECIAL, *whole, *(f"##{end}" for end in ends)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=_SPECIAL[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in _SPECIAL}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # of transformers
        tokenizer_object=tokenizer,
        model_max_length=longest,
        model_input_names=["input_ids", "attention_mask"],
        **names,
    )


def texts(count: int) -> tuple[str, list[str]]:
    """A query and passages of 200 words, always the same."""
    draw = random.Random(2)
    whole, ends = _words()

    def text(words: int) -> str:
        return " ".join(
            draw.choice(whole) + (draw.choice(ends) if draw.random() < _IN_TWO else "") for _ in range(words)
        )

    return text(QUERY_WORDS), [text(PASSAGE_WORDS) for _ in range(count)]
