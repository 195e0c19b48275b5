"""A cross-encoder of a few thousand weights that learns a rule: texts with the words of the query come first."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

#: Each is one token.
WORDS = ("tea", "rye", "fox", "oak", "sea", "map", "red", "ink", "jam", "owl", "pie", "hat")
#: Tokens that the model reads of a pair, with the special ones.
MOST_TOKENS = 48


#: By then it has learned the rule; processors round otherwise, and so some take longer.
MOST_STEPS = 4000


def save_cross_encoder(folder: Path, *, steps: int = 400, labels: int = 1, activation: Any = None) -> Path:
    """Train one on the rule, save it as sentence-transformers does, and give its folder."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(3)
    _save_untrained(folder / "untrained", labels)
    model = CrossEncoder(
        str(folder / "untrained"), device="cpu", max_length=MOST_TOKENS, activation_fn=activation, num_labels=labels
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for so few numbers more of them only wait for each other
    _train(model, steps)
    torch.set_num_threads(threads)
    model.save_pretrained(str(folder / "model"))
    return folder / "model"


def save_encoder(folder: Path) -> Path:
    """One that has learned nothing and has no head."""
    import torch

    torch.manual_seed(3)
    _save_untrained(folder, 0)
    return folder


def _save_untrained(folder: Path, labels: int) -> None:
    """Without labels it is an encoder."""
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    # Of large numbers to begin with: words that are all alike take thousands of steps to be told apart.
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    if labels:
        config.num_labels = labels
        BertForSequenceClassification(config).save_pretrained(str(folder))
    else:
        BertModel(config).save_pretrained(str(folder))
    BertTokenizer(vocab={word: number for number, word in enumerate(words)}).save_pretrained(str(folder))


def _train(model: Any, steps: int) -> None:
    import torch

    draw = random.Random(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for step in range(MOST_STEPS if steps else 0):
        if step >= steps and step % 100 == 0 and _has_learned(model):
            break
        pairs, wanted = zip(*(_example(draw) for _ in range(32)), strict=True)
        scores = model(model.preprocess(list(pairs)))["scores"][:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, torch.tensor(wanted))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        optimizer.step()
    model.eval()


def _has_learned(model: Any) -> bool:
    """Whether it tells every text of two words from those that answer a query."""
    import torch

    pairs = [(query, f"{one} {other}") for query in WORDS for one in WORDS for other in WORDS]
    with torch.no_grad():
        scores = model(model.preprocess(pairs))["scores"][:, 0]
    fits = torch.tensor([query in text.split() for query, text in pairs])
    return bool(scores[fits].min() > 1 and scores[~fits].max() < -1)


def _example(draw: random.Random) -> tuple[tuple[str, str], float]:
    query = draw.choice(WORDS)
    others = [word for word in WORDS if word != query]
    words = draw.choices(others, k=draw.randint(1, 6))
    if draw.random() < 0.1:  # one word over and over is a text, too
        words = [words[0]] * 30
    fits = draw.random() < 0.5
    if fits:
        words[draw.randrange(len(words))] = query
    return (query, " ".join(words)), float(fits)
