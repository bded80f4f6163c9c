"""Multi-head attention (Vaswani et al. 2017, section 3.2): of a sequence on itself, and of the decoder on the encoder.

Both end in `attend`, the only place where weights are computed. Masks are boolean and True means "may be attended to". A
causal mask and a padding mask are never passed together: torch's kernels disagree on what that means.

Decoding keeps keys and values of earlier tokens in a `LayerCache`. The forward pass is the same with and without it.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class LayerCache:
    """What one decoder layer remembers. R = B sentences times the hypotheses of each; T tokens so far."""

    keys: Tensor | None = None  # [R, H, T, K], of the target
    values: Tensor | None = None  # [R, H, T, K]
    memory_keys: Tensor | None = None  # [B, H, S, K], of the source: one for all hypotheses of a sentence
    memory_values: Tensor | None = None  # [B, H, S, K]

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps hypotheses `rows` [R'] and sentences `sentences` [B'], in that order; None keeps all as they are."""
        if rows is not None and self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
        if sentences is not None and self.memory_keys is not None and self.memory_values is not None:
            self.memory_keys = self.memory_keys.index_select(0, sentences)
            self.memory_values = self.memory_values.index_select(0, sentences)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, dropout: float) -> Tensor:
    """softmax(Q K^T / sqrt(K)) V (equation 1). query [B, H, T, K], key and value [B, H, S, K] -> [B, H, T, K].

    mask: boolean, broadcastable to [B, H, T, S], True = may be attended to. causal: token t sees keys 0 … t; excludes mask.
    """
    assert mask is None or not causal, "combine the two into one mask"
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal, dropout_p=dropout)


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """[queries, keys]: the queries are the last of the keys, and each sees itself and what came before it."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def _linear(d_in: int, d_out: int, blocks: int) -> nn.Linear:
    """`blocks` maps d_in -> d_out in one matrix, each initialised on its own (Glorot uniform), biases zero."""
    linear = nn.Linear(d_in, blocks * d_out)
    for block in linear.weight.data.chunk(blocks):
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(linear.bias)
    return linear


class _Heads(nn.Module):
    """What both kinds share: splitting into heads, joining them, the output map."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.output = _linear(d_model, d_model, 1)

    def _split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, K]."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _join(self, heads: Tensor) -> Tensor:
        """[B, H, T, K] -> [B, T, D], through the output map."""
        joined: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return joined

    @property
    def _rate(self) -> float:
        return self.dropout if self.training else 0.0


class SelfAttention(_Heads):
    """Attention of a sequence on itself; queries, keys and values are one matrix product."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__(d_model, heads, dropout)
        self.query_key_value = _linear(d_model, d_model, 3)

    def forward(self, x: Tensor, mask: Tensor | None, causal: bool, cache: LayerCache | None = None) -> Tensor:
        """[B, T, D] -> [B, T, D]. With a cache, x are the newest tokens and the earlier ones are in the cache."""
        query, key, value = (self._split(part) for part in self.query_key_value(x).chunk(3, dim=-1))
        if cache is not None:
            if cache.keys is not None and cache.values is not None:
                key, value = torch.cat([cache.keys, key], dim=2), torch.cat([cache.values, value], dim=2)
            cache.keys, cache.values = key, value
        if causal and key.shape[2] > query.shape[2]:
            mask = None if query.shape[2] == 1 else causal_mask(query.shape[2], key.shape[2], x.device)
            causal = False
        return self._join(attend(query, key, value, mask, causal, self._rate))


class CrossAttention(_Heads):
    """Attention of the decoder on the encoder's output (the memory)."""

    def __init__(self, d_model: int, heads: int, dropout: float) -> None:
        super().__init__(d_model, heads, dropout)
        self.query = _linear(d_model, d_model, 1)
        self.key_value = _linear(d_model, d_model, 2)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, cache: LayerCache | None = None) -> Tensor:
        """x [R, T, D], memory [B, S, D], mask [B, 1, 1, S] -> [R, T, D].

        R = B times the hypotheses of each sentence: these lie one after the other and share the sentence's keys and values,
        as if they were one long target. With a cache the memory is projected only once.
        """
        if cache is not None and cache.memory_keys is not None and cache.memory_values is not None:
            key, value = cache.memory_keys, cache.memory_values
        else:
            key, value = (self._split(part) for part in self.key_value(memory).chunk(2, dim=-1))
            if cache is not None:
                key, value = key.contiguous(), value.contiguous()
                cache.memory_keys, cache.memory_values = key, value
        rows, length, width = x.shape
        assert rows % key.shape[0] == 0, "as many hypotheses for each sentence"
        query = self._split(self.query(x).view(key.shape[0], -1, width))
        attended = attend(query, key, value, mask, False, self._rate)
        return self._join(attended).view(rows, length, width)
