"""The position-wise feed-forward sublayer. One class a kind; the dict at the end is the list of them."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.dropout import Dropout


class ReluFeedForward(nn.Module):
    """FFN(x) = max(0, x W1 + b1) W2 + b2 (Vaswani et al. 2017, equation 2)."""

    activation: Callable[[Tensor], Tensor] = staticmethod(torch.relu_)

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.feedforward_dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[…, D] -> […, D]."""
        outer: Tensor = self.outer(self.dropout(self.activation(self.inner(x))))
        return outer


class GeluFeedForward(ReluFeedForward):
    """The same with x * Phi(x), Phi the normal distribution (Hendrycks and Gimpel 2016), exactly."""

    activation = staticmethod(F.gelu)


class SwigluFeedForward(nn.Module):
    """FFN(x) = (swish(x W) * x V) W2, without biases (Shazeer 2020, equation 6). W and V are one matrix product."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, 2 * config.d_ff, bias=False)
        self.outer = nn.Linear(config.d_ff, config.d_model, bias=False)
        self.dropout = Dropout(config.feedforward_dropout)
        for matrix in (*self.inner.weight.data.chunk(2), self.outer.weight):
            nn.init.xavier_uniform_(matrix)

    def forward(self, x: Tensor) -> Tensor:
        """[…, D] -> […, D]."""
        gate, value = self.inner(x).chunk(2, dim=-1)
        outer: Tensor = self.outer(self.dropout(F.silu(gate) * value))
        return outer


class Experts(nn.Module):
    """Mixture of experts: a router sends each token through the `experts_per_token` sublayers it thinks best.

    Their outputs are weighted by the router's probabilities, which are made to sum to 1 where there are several (Lepikhin et
    al. 2021) and stay as they are where there is one (Fedus et al. 2022). No expert is ever full, so no token is dropped and
    none depends on its neighbours.
    """

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.chosen = config.experts_per_token
        self.router = nn.Linear(config.d_model, config.experts, bias=False)
        nn.init.normal_(self.router.weight, std=config.d_model**-0.5)
        self.experts = nn.ModuleList(ReluFeedForward(config) for _ in range(config.experts))
        self._routing: tuple[Tensor, Tensor] | None = None  # of the latest forward pass in training

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        probabilities = self.router(x).float().softmax(-1) if x.dtype != torch.float64 else self.router(x).softmax(-1)
        best, chosen = probabilities.topk(self.chosen, dim=-1)
        self._routing = (probabilities, chosen) if self.training else None
        weights = (best / best.sum(-1, keepdim=True) if self.chosen > 1 else best).flatten(0, 1)
        tokens, chosen = x.flatten(0, 1), chosen.flatten(0, 1)
        result = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            # An expert that nobody chose computes nothing of nothing: its gradients are zeros and not missing.
            rows, rank = (chosen == number).nonzero(as_tuple=True)
            result = result.index_add(0, rows, (expert(tokens[rows]) * weights[rows, rank, None]).to(result.dtype))
        return result.view_as(x)

    def imbalance(self, real: Tensor | None) -> Tensor:
        """E * sum over experts of (share of choices) * (mean probability) (Fedus et al. 2022, equation 4); 1 = even.

        Over the tokens of the latest forward pass in training that are `real` [B, T]; None = all.
        """
        assert self._routing is not None, "only after a forward pass in training"
        probabilities, chosen = (part.flatten(0, 1) if real is None else part[real] for part in self._routing)
        self._routing = None
        count = probabilities.shape[-1]
        shares = torch.bincount(chosen.flatten(), minlength=count) / chosen.numel()
        return count * (shares * probabilities.mean(0)).sum()


FEEDFORWARDS: dict[str, Callable[[schema.Model], nn.Module]] = {
    "relu": ReluFeedForward,
    "gelu": GeluFeedForward,
    "swiglu": SwigluFeedForward,
    "experts": Experts,
}
