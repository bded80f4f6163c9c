"""Multi-head attention (Vaswani et al. 2017, section 3.2): of a sequence on itself, and of the decoder on the encoder.

Both end in `attend`, torch's fused kernels where they are fast, or while somebody looks (`attention_weights`) in
`attend_openly`, which has the weights in its hands; the two are equal in values and gradients. A causal mask and another one
are never passed together: torch's kernels disagree on what that means.

Decoding keeps keys and values of earlier tokens in a cache. The forward pass is the same with and without it.

Shapes: G heads of keys and values, each shared by H / G heads of queries; J = d_k, K = d_v.
"""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.cache import LayerCache
from mtkit.model.positions import rotate

FEW_QUERIES = 16
"""Queries of a sentence at a step of decoding, at most: torch's fused kernel for CPUs takes twice as long for so few."""

NARROW = (torch.bfloat16, torch.float16)
"""The backward pass of torch's fused kernel for CPUs takes five times as long as the formula written out in these."""


@dataclass(frozen=True)
class View:
    """What queries see of the keys, and how positions come in: the same for every layer of a stack."""

    mask: Tensor | None = None  # boolean, True = seen, or numbers added to the scores; broadcastable to [B, H, T, S]
    causal: bool = False  # token t sees tokens 0 … t; excludes a mask
    rotation: Tensor | None = None  # [2, T, J/2], see `positions.rotate`


def attend(query: Tensor, key: Tensor, value: Tensor, view: View, dropout: float) -> Tensor:
    """softmax(Q K^T / sqrt(J)) V (equation 1). query [B, H, T, J], key [B, G, S, J], value [B, G, S, K] -> [B, H, T, K]."""
    assert view.mask is None or not view.causal, "combine the two into one mask"
    if query.device.type == "cpu" and _is_better_open(query):
        return attend_openly(query, key, value, view, dropout)[0]
    mask = view.mask
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.to(query.dtype)
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        is_causal=view.causal,
        dropout_p=dropout,
        enable_gqa=key.shape[1] != query.shape[1],
    )


def _is_better_open(query: Tensor) -> bool:
    """On a CPU: whether the formula written out is faster than torch's fused kernel for query [B, H, T, J]."""
    return query.dtype in NARROW if query.requires_grad else query.shape[2] <= FEW_QUERIES


def attend_openly(query: Tensor, key: Tensor, value: Tensor, view: View, dropout: float) -> tuple[Tensor, Tensor]:
    """The same written out, with the weights [B, H, T, S] beside the result. The reference for `attend`."""
    sentences, heads, queries, width = query.shape
    groups = key.shape[1]
    shared = (query / math.sqrt(width)).reshape(sentences, groups, -1, width)  # heads of a group as more queries
    scores = (shared @ key.transpose(-2, -1)).view(sentences, heads, queries, -1)
    mask = causal_mask(query.shape[2], key.shape[2], query.device) if view.causal else view.mask
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask.to(scores.dtype)
    weights = (scores.float() if scores.dtype in NARROW else scores).softmax(-1)
    kept = (F.dropout(weights, dropout) if dropout else weights).to(value.dtype)
    return (kept.view(sentences, groups, -1, kept.shape[3]) @ value).view(sentences, heads, queries, -1), weights


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """[queries, keys]: the queries are the last of the keys, and each sees itself and what came before it."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def _linear(d_in: int, *d_out: int) -> nn.Linear:
    """Maps d_in -> each of d_out in one matrix, each initialised on its own (Glorot uniform), biases zero."""
    linear = nn.Linear(d_in, sum(d_out))
    for block in torch.split(linear.weight.data, list(d_out)):
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(linear.bias)
    return linear


class _Heads(nn.Module):
    """What both kinds share: splitting into heads, joining them, the output map."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.widths = [config.heads * config.key_width, config.groups * config.key_width, config.groups * config.value_width]
        self.heads, self.groups = config.heads, config.groups
        self.dropout = config.attention_dropout
        self.output = _linear(config.heads * config.value_width, config.d_model)
        self.weights: list[Tensor] | None = None  # of the latest forward pass, while somebody looks

    @staticmethod
    def _split(x: Tensor, heads: int) -> Tensor:
        """[B, T, heads * width] -> [B, heads, T, width]."""
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, view: View) -> Tensor:
        """[B, H, T, J], [B, G, S, J], [B, G, S, K] -> [B, T, D], heads joined, through the output map."""
        rate = self.dropout if self.training else 0.0
        if self.weights is None:
            attended = attend(query, key, value, view, rate)
        else:
            attended, weights = attend_openly(query, key, value, view, rate)
            self.weights[:] = [weights]
        joined: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return joined


class SelfAttention(_Heads):
    """Attention of a sequence on itself; queries, keys and values are one matrix product."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config)
        self.query_key_value = _linear(config.d_model, *self.widths)

    def forward(self, x: Tensor, view: View, cache: LayerCache | None = None) -> Tensor:
        """[B, T, D] -> [B, T, D]. With a cache, x are the newest tokens and the earlier ones are in the cache.

        Hypotheses of a sentence lie one after the other as if they were one long target; the view keeps them apart.
        """
        query, key, value = self.query_key_value(x).split(self.widths, dim=-1)
        query, key, value = self._split(query, self.heads), self._split(key, self.groups), self._split(value, self.groups)
        if view.rotation is not None:
            query, key = rotate(query, view.rotation), rotate(key, view.rotation)
        if cache is not None:
            key, value = cache.extend(key, value)
        return self._attend(query, key, value, view)


class CrossAttention(_Heads):
    """Attention of the decoder on the encoder's output (the memory)."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config)
        self.query = _linear(config.d_model, self.widths[0])
        self.key_value = _linear(config.d_model, *self.widths[1:])

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, cache: LayerCache | None = None) -> Tensor:
        """x [B, T, D], memory [B, S, D], mask [B, 1, 1, S] -> [B, T, D].

        The hypotheses of a sentence share its keys and values, as if they were one long target. With a cache the memory is
        projected only once.
        """
        if cache is not None and cache.memory_keys is not None and cache.memory_values is not None:
            key, value = cache.memory_keys, cache.memory_values
        else:
            key, value = (self._split(part, self.groups) for part in self.key_value(memory).split(self.widths[1:], dim=-1))
            if cache is not None:
                key, value = key.contiguous(), value.contiguous()
                cache.memory_keys, cache.memory_values = key, value
        return self._attend(self._split(self.query(x), self.heads), key, value, View(mask))


@contextlib.contextmanager
def attention_weights(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Inside, every attention of `model` computes openly and leaves the weights of its latest pass in the dict.

    Keys are names of modules such as `encoder.0.self_attention` and `decoder.5.cross_attention`; each list then holds one
    tensor: [B, H, S, S] in the encoder, in the decoder [B, H, T, N] or [B, H, T, S], where T are the new tokens of all
    hypotheses of a sentence, one hypothesis after the other, and N the places of the cache. Rows sum to 1. Of several around
    one pass the inmost sees it.
    """
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, _Heads)}
    seen: dict[str, list[Tensor]] = {name: [] for name in attentions}
    before = {name: module.weights for name, module in attentions.items()}
    for name, module in attentions.items():
        module.weights = seen[name]
    try:
        yield seen
    finally:
        for name, module in attentions.items():
            module.weights = before[name]
