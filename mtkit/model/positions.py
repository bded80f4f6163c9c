"""How the model knows the order of its tokens. One class a scheme; the dict at the end is the list of them."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Returns [length, d_model] in float32, computed in float64 so that far positions stay exact.
    """
    positions = torch.arange(length, dtype=torch.float64)[:, None]
    wavelengths = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (math.log(10000.0) / d_model))
    angles = positions / wavelengths
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class Sinusoidal(nn.Module):
    """Adds the paper's fixed sinusoids to the embedded tokens. Any length: the table grows as longer sentences come."""

    table: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(512, d_model), persistent=False)

    def forward(self, embedded: Tensor, first: int) -> Tensor:
        """[B, T, D] of tokens at positions first, first + 1, … to the same shape."""
        end = first + embedded.shape[1]
        if end > len(self.table):
            longer = sinusoids(max(end, 2 * len(self.table)), embedded.shape[2])
            self.table = longer.to(self.table)
        return embedded + self.table[first:end]


POSITIONS = {"sinusoidal": Sinusoidal}
