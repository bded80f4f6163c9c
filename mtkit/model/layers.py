"""Encoder and decoder layers: sublayers, each wrapped in residual connection, dropout and normalisation."""

from collections.abc import Callable

from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.attention import CrossAttention, SelfAttention, View
from mtkit.model.cache import LayerCache
from mtkit.model.dropout import Dropout
from mtkit.model.feedforward import FEEDFORWARDS


class RMSNorm(nn.RMSNorm):
    """x / sqrt(mean(x^2) + 1e-6) * gain, in the gain's precision whatever x comes in: torch's kernel wants both alike."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        """[…, D] -> […, D]."""
        return super().forward(x.to(self.weight.dtype))


NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "rms": RMSNorm}


class PostNorm(nn.Module):
    """norm(x + Dropout(sublayer(x))) (Vaswani et al. 2017, sections 3.1 and 5.4)."""

    normalises_the_sum = True

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


class PreNorm(nn.Module):
    """x + Dropout(sublayer(norm(x))) (Xiong et al. 2020)."""

    normalises_the_sum = False

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        summed: Tensor = x + self.dropout(sublayer(self.norm(x)))
        return summed


class SandwichNorm(nn.Module):
    """x + Dropout(norm(sublayer(norm(x)))) (Ding et al. 2021): no sublayer's output outgrows the sum."""

    normalises_the_sum = False

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model)
        self.output_norm = NORMS[config.norm](config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        summed: Tensor = x + self.dropout(self.output_norm(sublayer(self.norm(x))))
        return summed


PLACEMENTS: dict[str, type[PostNorm] | type[PreNorm] | type[SandwichNorm]] = {
    "post": PostNorm,
    "pre": PreNorm,
    "sandwich": SandwichNorm,
}


def final_norm(config: schema.Model) -> nn.Module:
    """What follows the last layer of a stack: a norm where the layers do not end in one."""
    if PLACEMENTS[config.norm_placement].normalises_the_sum:
        return nn.Identity()
    return NORMS[config.norm](config.d_model)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        residual = PLACEMENTS[config.norm_placement]
        self.self_attention = SelfAttention(config)
        self.self_attention_residual = residual(config)
        self.feed_forward = FEEDFORWARDS[config.feedforward](config)
        self.feed_forward_residual = residual(config)

    def forward(self, x: Tensor, view: View) -> Tensor:
        """[B, S, D] -> [B, S, D]."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, view))
        x = self.feed_forward_residual(x, self.feed_forward)
        return x


class DecoderLayer(nn.Module):
    """Causal self-attention, attention on the memory, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        residual = PLACEMENTS[config.norm_placement]
        self.self_attention = SelfAttention(config)
        self.self_attention_residual = residual(config)
        self.cross_attention = CrossAttention(config)
        self.cross_attention_residual = residual(config)
        self.feed_forward = FEEDFORWARDS[config.feedforward](config)
        self.feed_forward_residual = residual(config)

    def forward(self, x: Tensor, view: View, memory: Tensor, mask: Tensor | None, cache: LayerCache | None = None) -> Tensor:
        """x [B, T, D], memory [B, S, D], mask [B, 1, 1, S] or None -> [B, T, D]."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, view, cache))
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, mask, cache))
        x = self.feed_forward_residual(x, self.feed_forward)
        return x
