"""Which models can be exported as a whole, and what tells one from another of the same name."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from torch import Tensor

#: Counted up when files that were exported before can no longer be used.
_FORMAT = 1
#: What a graph may be given. Some models do without the last.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
#: A file of this format holds 2 GiB.
_MOST_BYTES = 1_900_000_000
_SENTENCE = "sentence_embedding"


class Unusable(Exception):
    """Why torch answers; a part of a sentence without paths."""


class OnGpu(Unusable):
    """torch is the fast way already."""


def transformer_of(model: SentenceTransformer) -> Transformer:
    """The first module, of a model that `check_exportable` has let through."""
    return cast("Transformer", model[0])


def check_exportable(model: SentenceTransformer) -> None:
    """Raise Unusable for a model that does more than transformer, pooling, dense layers and normalising.

    Subclasses are other models: what they do is not known.
    """
    from sentence_transformers.sentence_transformer.modules import (  # noqa: PLC0415 - imports torch
        Dense,
        Normalize,
        Pooling,
        Transformer,
    )

    modules = list(model)
    if [type(module) for module in modules[:2]] != [Transformer, Pooling]:
        raise Unusable("it does not consist of a transformer and a pooling")
    for module in modules[2:]:
        is_known = type(module) in (Dense, Normalize)
        if not is_known or {module.module_input_name, module.module_output_name} != {_SENTENCE}:
            raise Unusable(f"the module {type(module).__name__} is not known")
    _check_transformer(transformer_of(model))
    if not modules[1].include_prompt and query_prompt(model):
        raise Unusable("it leaves the prompt out of the pooling")
    if model.truncate_dim is not None or any((model.module_kwargs or {}).values()):
        raise Unusable("it is used with options of its own")
    _check_weights(model)


def _check_transformer(transformer: Transformer) -> None:
    if transformer.transformer_task != "feature-extraction" or transformer.query_expansion is not None:
        raise Unusable("its transformer does more than turn tokens into vectors")
    if list(transformer.modality_config) != ["text"] or transformer.can_flatten_inputs:
        raise Unusable("its transformer takes more than rows of tokens")
    if getattr(transformer.tokenizer, "backend_tokenizer", None) is None:
        raise Unusable("its tokenizer is not one of the tokenizers package")


def _check_weights(model: SentenceTransformer) -> None:
    tensors = list(model.state_dict().values())
    if any(tensor.device.type != "cpu" for tensor in tensors):
        raise OnGpu("it does not run on the CPU")
    if any(tensor.is_floating_point() and tensor.element_size() != 4 for tensor in tensors):
        raise Unusable("its weights are not of 32 bits")
    if sum(tensor.nbytes for tensor in tensors) > _MOST_BYTES:
        raise Unusable("it is too large")


def query_prompt(model: SentenceTransformer) -> str:
    """What `encode_query` puts before a query."""
    name = "query" if "query" in model.prompts else model.default_prompt_name or ""
    return model.prompts.get(name) or ""


def model_inputs(model: SentenceTransformer, text: str) -> dict[str, Tensor]:
    """What `encode_query` gives the model for a text. Raises Unusable where that is more than tokens."""
    import torch  # noqa: PLC0415 - heavy

    features = model.preprocess([text], prompt=query_prompt(model), task="query")
    tensors = {name: value for name, value in features.items() if isinstance(value, torch.Tensor)}
    if not {"input_ids"} <= tensors.keys() <= set(INPUTS):
        raise Unusable("its tokenizer gives other things than tokens")
    return tensors


def digest(model: SentenceTransformer) -> str:
    """A hash of the weights, of how the modules are configured, and of what exports them."""
    import sentence_transformers  # noqa: PLC0415 - imports torch
    import torch  # noqa: PLC0415 - heavy
    import transformers  # noqa: PLC0415 - heavy

    config = transformer_of(model).config.to_dict()
    modules: list[Any] = list(model)
    described = {
        "made by": [_FORMAT, torch.__version__, transformers.__version__, sentence_transformers.__version__],
        "modules": [[type(module).__qualname__, module.get_config_dict()] for module in modules],
        # Where it lies, and how it is run here, do not change it.
        "transformer": {key: value for key, value in config.items() if not key.startswith("_")},
        "query prompt": query_prompt(model),
    }
    hashed = hashlib.sha256(json.dumps(described, sort_keys=True, default=repr).encode())
    for name, tensor in sorted(model.state_dict().items()):
        hashed.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        hashed.update(tensor.detach().contiguous().numpy().data)
    return hashed.hexdigest()[:32]
