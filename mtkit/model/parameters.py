"""How many weights a model has, by part. Comes in: the section `model` and the sizes of the vocabularies. Goes out: counts.

They are counted on the real model, built on torch's meta device, so there is no second opinion on its sizes. Knows nothing
of data or of training.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from mtkit.config import schema
from mtkit.model.feedforward import Experts
from mtkit.model.transformer import Transformer

PARTS = (
    "source_embedding",
    "embedding",
    "output_embedding",
    "positions",
    "encoder_self_attention",
    "encoder_feed_forward",
    "encoder_norms",
    "decoder_self_attention",
    "decoder_cross_attention",
    "decoder_feed_forward",
    "decoder_norms",
)
"""In the order of the model. `embedding` is the target's, and that of everything tied to it."""


@dataclass(frozen=True)
class Parameters:
    """Numbers of weights; a shared matrix counts once."""

    parts: Mapping[str, int]  # by the names of `PARTS`, 0 where a model has no such part
    total: int
    active: int  # that a token meets: of the experts only those that it is sent to
    linear: int  # in the matrices of linear maps: those that 16-bit arithmetic keeps a copy of


def count_parameters(config: schema.Model, source_pieces: int, target_pieces: int) -> Parameters:
    """The weights of the model of `config` over vocabularies of these sizes (equal ones where they are one).

    The layers of a stack are alike, so one of each is built and counted as often as there are.
    """
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    with _Sizes():
        model = Transformer(
            config.model_copy(update={f"{stack}_layers": 1 for stack in layers}), target_pieces, source_pieces
        )
    parts = dict.fromkeys(PARTS, 0)
    resting = linear = 0
    for name, module in model.named_modules():
        times = layers.get(name.partition(".")[0], 1)
        for weight_name, weight in module.named_parameters(recurse=False):
            parts[_part(f"{name}.{weight_name}")] += times * weight.numel()
        if isinstance(module, nn.Linear):
            linear += times * module.weight.numel()
        if isinstance(module, Experts):
            expert = sum(weight.numel() for weight in module.experts[0].parameters())
            resting += times * (len(module.experts) - module.chosen) * expert
    total = sum(parts.values())
    return Parameters(parts, total, total - resting, linear)


def _part(name: str) -> str:
    """The part that a weight such as `decoder.3.cross_attention.query.weight` belongs to."""
    first, *rest = name.split(".")
    if first.endswith("embedding"):
        return first
    if first.endswith("positions"):
        return "positions"
    if any("norm" in word for word in (first, *rest)):
        return f"{first.removesuffix('_norm')}_norms"
    return f"{first}_{rest[1]}"


class _Sizes(TorchFunctionMode):
    """Inside, weights are made on torch's meta device, which holds shapes only, and nothing is drawn at random.

    With `torch.device("meta")` alone, tables of positions and random numbers would go through torch's compiler, whose import
    takes seconds.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.empty:
            kwargs = kwargs | {"device": "meta"}
        elif func.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)
