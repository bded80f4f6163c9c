"""The position-wise feed-forward sublayer. One class a kind; the dict at the end is the list of them."""

import torch.nn.functional as F
from torch import Tensor, nn

from mtkit.model.dropout import Dropout


class ReluFeedForward(nn.Module):
    """FFN(x) = max(0, x W1 + b1) W2 + b2 (Vaswani et al. 2017, equation 2)."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        outer: Tensor = self.outer(self.dropout(F.relu(self.inner(x))))
        return outer


FEEDFORWARDS = {"relu": ReluFeedForward}
