"""How the model knows the order of its tokens. One class a scheme; the dict at the end is the list of them.

A scheme may change the embedded tokens, turn the queries and keys of self-attention, or add to its scores. Positions are
counted from 0. Encoder and decoder have a scheme of their own each, the decoder's with `causal=True`.

Shapes: B sentences, T tokens at positions first, first + 1, …, D = d_model, H heads, K = d_k.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mtkit.config import schema

FIRST_TABLE = 512
"""Positions tabulated at first; tables grow as longer sentences come."""


class Positions(nn.Module):
    """What a scheme may do. This one does nothing."""

    longest: int | None = None
    """Tokens of the longest sentence it knows; None = any."""

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__()

    def embed(self, embedded: Tensor, first: int) -> Tensor:
        """[B, T, D] -> [B, T, D], what goes into the first layer."""
        return embedded

    def rotation(self, first: int, length: int) -> Tensor | None:
        """[2, T, K/2]: cosines and sines of the angles by which `rotate` turns queries and keys; None = not at all."""
        return None

    def bias(self, first: int, length: int) -> Tensor | None:
        """[H, T, first + T]: what is added to the scores of the newest T tokens against all; None = nothing."""
        return None


def sinusoids(length: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Returns [length, d_model] in float32, computed in float64 so that far positions stay exact.
    """
    wavelengths = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (math.log(10000.0) / d_model))
    angles = torch.arange(length, dtype=torch.float64)[:, None] / wavelengths
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


def concatenated_sinusoids(length: int, d_model: int) -> Tensor:
    """The form of the paper's code (tensor2tensor): all sines, then all cosines; wavelengths up to 10000 * 2 pi itself."""
    last = max(d_model // 2 - 1, 1)
    wavelengths = torch.exp(torch.arange(d_model // 2, dtype=torch.float64) * (math.log(10000.0) / last))
    angles = torch.arange(length, dtype=torch.float64)[:, None] / wavelengths
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


class Sinusoidal(Positions):
    """Adds the paper's fixed sinusoids to the embedded tokens."""

    table: Tensor
    _rows: Callable[[int, int], Tensor] = staticmethod(sinusoids)

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__(config, causal)
        self.register_buffer("table", self._rows(FIRST_TABLE, config.d_model), persistent=False)

    def embed(self, embedded: Tensor, first: int) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        end = first + embedded.shape[1]
        if end > len(self.table):
            self.table = self._rows(max(end, 2 * len(self.table)), embedded.shape[2]).to(self.table)
        return embedded + self.table[first:end]


class ConcatenatedSinusoidal(Sinusoidal):
    """The same with the sinusoids in the order of the paper's code."""

    _rows = staticmethod(concatenated_sinusoids)


class Learned(Positions):
    """Adds a learned vector for each position (Vaswani et al. 2017, table 3, row E)."""

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__(config, causal)
        self.longest = config.learned_positions
        self.vectors = nn.Parameter(torch.empty(config.learned_positions, config.d_model))
        nn.init.normal_(self.vectors, std=0.02)

    def embed(self, embedded: Tensor, first: int) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        end = first + embedded.shape[1]
        assert end <= len(self.vectors), f"position {end} of {len(self.vectors)}"
        return embedded + self.vectors[first:end]


class Rotary(Positions):
    """Turns queries and keys by angles that grow with the position, so that scores depend on distances (Su et al. 2021)."""

    table: Tensor  # [2, positions, K/2]

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__(config, causal)
        self.d_k = config.key_width
        self.register_buffer("table", self._rows(FIRST_TABLE), persistent=False)

    def _rows(self, length: int) -> Tensor:
        return sinusoids(length, self.d_k).view(length, -1, 2).permute(2, 0, 1).flip(0)

    def rotation(self, first: int, length: int) -> Tensor:
        """[2, T, K/2]: cos and sin of pos / 10000^(2i/d_k)."""
        if first + length > self.table.shape[1]:
            self.table = self._rows(max(first + length, 2 * self.table.shape[1])).to(self.table)
        return self.table[:, first : first + length]


def rotate(heads: Tensor, rotation: Tensor) -> Tensor:
    """[B, H, T, K] turned by [2, T, K/2]: numbers i and i + K/2 are the two coordinates of a point in a plane."""
    cosine, sine = rotation
    a, b = heads.chunk(2, dim=-1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1).to(heads.dtype)


class Alibi(Positions):
    """Takes slope * distance from the scores, with another slope for each head (Press et al. 2022).

    In the encoder a head's slope to the right is the one that its mirror image among the heads has to the left: with equal
    slopes on both sides the encoder could not tell a sentence from its reverse.
    """

    slopes: Tensor  # [2, H]: to the left, to the right

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__(config, causal)
        left = torch.tensor(alibi_slopes(config.heads))
        self.register_buffer("slopes", torch.stack([left, left.flip(0)]), persistent=False)

    def bias(self, first: int, length: int) -> Tensor:
        """[H, T, first + T], none above 0."""
        left, right = self.slopes[:, :, None, None]
        back = distances(first, length, self.slopes.device)
        penalty: Tensor = left * back.clamp(min=0) + right * (-back).clamp(min=0)
        return -penalty


def alibi_slopes(heads: int) -> list[float]:
    """2^(-8i/n), i = 1 … n = heads; where n is no power of two: those of the lower one, every second of the higher one."""
    lower = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8 * i / lower) for i in range(1, lower + 1)]
    return slopes + [2.0 ** (-4 * i / lower) for i in range(1, 2 * (heads - lower), 2)]


class RelativeBias(Positions):
    """Adds a learned bias for each head and bucket of distances to the scores of every layer (Raffel et al. 2020)."""

    buckets, far = 32, 128  # from distance `far` on all share a bucket

    def __init__(self, config: schema.Model, causal: bool) -> None:
        super().__init__(config, causal)
        self.causal = causal
        self.biases = nn.Parameter(torch.empty(config.heads, self.buckets))
        nn.init.normal_(self.biases, std=config.d_model**-0.5)

    def bias(self, first: int, length: int) -> Tensor:
        """[H, T, first + T]."""
        buckets = self.bucket(distances(first, length, self.biases.device))
        biases: Tensor = self.biases[:, buckets]
        return biases

    def bucket(self, back: Tensor) -> Tensor:
        """Distances to the left (negative: to the right) -> numbers of buckets, of the same shape.

        Half of the buckets hold one distance each, the others ranges that grow by a constant factor. The encoder has half of
        all for each direction, the decoder sees nothing to its right.
        """
        count = self.buckets if self.causal else self.buckets // 2
        base = 0 if self.causal else (back < 0) * count
        distance = back.clamp(min=0) if self.causal else back.abs()
        exact = count // 2
        growth = torch.log(distance.clamp(min=1).double() / exact) / math.log(self.far / exact)
        ranges = exact + (growth * (count - exact)).long()
        return base + torch.where(distance < exact, distance, ranges.clamp(max=count - 1))


def distances(first: int, length: int, device: torch.device) -> Tensor:
    """[T, first + T]: how far to the left of token t of the newest the token s lies."""
    return torch.arange(first, first + length, device=device)[:, None] - torch.arange(first + length, device=device)


POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": Sinusoidal,
    "sinusoidal_concatenated": ConcatenatedSinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "alibi": Alibi,
    "relative": RelativeBias,
}
