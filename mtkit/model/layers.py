"""Encoder and decoder layers: sublayers, each wrapped in residual connection, dropout and normalisation."""

from collections.abc import Callable

from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.attention import CrossAttention, LayerCache, SelfAttention
from mtkit.model.dropout import Dropout
from mtkit.model.feedforward import FEEDFORWARDS

NORMS = {"layer": nn.LayerNorm}


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(sublayer(x))) (Vaswani et al. 2017, sections 3.1 and 5.4)."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


class PreNorm(nn.Module):
    """x + Dropout(sublayer(LayerNorm(x))) (Xiong et al. 2020); the stack of layers needs `final_norm` after it."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        summed: Tensor = x + self.dropout(sublayer(self.norm(x)))
        return summed


PLACEMENTS = {"post": PostNorm, "pre": PreNorm}


def final_norm(config: schema.Model) -> nn.Module:
    """What follows the last layer of a stack: a norm where the layers do not end in one."""
    return nn.Identity() if config.norm_placement == "post" else NORMS[config.norm](config.d_model)


def _feed_forward(config: schema.Model) -> nn.Module:
    return FEEDFORWARDS[config.feedforward](config.d_model, config.d_ff, config.feedforward_dropout)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        residual = PLACEMENTS[config.norm_placement]
        self.self_attention = SelfAttention(config.d_model, config.heads, config.attention_dropout)
        self.self_attention_residual = residual(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [B, S, D], mask [B, 1, 1, S] or None where nothing is padding -> [B, S, D]."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, mask, causal=False))
        x = self.feed_forward_residual(x, self.feed_forward)
        return x


class DecoderLayer(nn.Module):
    """Causal self-attention, attention on the memory, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        residual = PLACEMENTS[config.norm_placement]
        self.self_attention = SelfAttention(config.d_model, config.heads, config.attention_dropout)
        self.self_attention_residual = residual(config)
        self.cross_attention = CrossAttention(config.d_model, config.heads, config.attention_dropout)
        self.cross_attention_residual = residual(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, cache: LayerCache | None = None) -> Tensor:
        """x [R, T, D], memory [B, S, D], mask [B, 1, 1, S] or None -> [R, T, D]; see CrossAttention for R."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, None, causal=True, cache=cache))
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, mask, cache=cache))
        x = self.feed_forward_residual(x, self.feed_forward)
        return x
