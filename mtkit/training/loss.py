"""Label-smoothed cross-entropy (Vaswani et al. 2017, section 5.4), as sums over target tokens.

With V pieces, z = the logits of a token, t = its piece and e = the smoothing:
loss = (1 - e) * -log softmax(z)[t] + e * mean over v of -log softmax(z)[v] = logsumexp(z) - (1 - e) z[t] - e mean(z).
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mtkit.data.batching import Batch
from mtkit.data.vocabulary import PAD
from mtkit.model.transformer import Transformer

CHUNK = {"cpu": 2**23, "cuda": 2**26}
"""Logits that are in memory at a time. All of an update's would be the largest array of a training by far."""


class _SmoothedLoss(torch.autograd.Function):
    """Loss of hidden states against an output matrix, a chunk of rows at a time, gradient and all: no logits are kept.

    With p = softmax(z), dloss/dz = p - (1 - e) onehot(t) - e/V. Only p is an array of V columns; the other two terms reach
    the hidden states and the matrix directly, as a row of W, its mean row and an index_add.
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        smoothing: float,
        wanted: bool,
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        hidden, matrix = hidden.to(dtype), weight.to(dtype)
        mean_row = matrix.mean(0)
        hidden_gradient = torch.empty_like(hidden) if wanted else hidden
        weight_gradient = torch.zeros_like(weight) if wanted else weight
        sums = torch.zeros(2, dtype=weight.dtype, device=weight.device)
        rows = max(1, CHUNK.get(device, CHUNK["cuda"]) // len(weight))
        for states, targets, gradient in zip(
            *(torch.split(part, rows) for part in (hidden, target, hidden_gradient)), strict=True
        ):
            logits = (states @ matrix.T).to(weight.dtype)
            of_target = logits.gather(1, targets[:, None])[:, 0]
            top, best = logits.max(dim=1)
            mean = (states @ mean_row).to(weight.dtype)
            probabilities = torch.softmax(logits, dim=1, out=logits)
            # The largest probability is at least 1/V, so its logarithm is exact where that of the target's may underflow.
            log_sum = top - probabilities.gather(1, best[:, None])[:, 0].log()
            sums += torch.stack(
                [(log_sum - (1.0 - smoothing) * of_target - smoothing * mean).sum(), (log_sum - of_target).sum()]
            )
            if wanted:
                narrow = probabilities.to(dtype)
                torch.mm(narrow, matrix, out=gradient).sub_((1.0 - smoothing) * matrix[targets] + smoothing * mean_row)
                weight_gradient += (narrow.T @ states).to(weight.dtype)
        if wanted:
            wide = hidden.to(weight.dtype)
            weight_gradient.sub_(wide.sum(0) * (smoothing / len(weight)))
            weight_gradient.index_add_(0, target, wide, alpha=smoothing - 1.0)
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        loss, negative_log_likelihood = sums.unbind()
        ctx.mark_non_differentiable(negative_log_likelihood)
        return loss, negative_log_likelihood

    @staticmethod
    @once_differentiable
    def backward(
        ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors  # type: ignore[attr-defined]
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None, None


def smoothed_loss(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """hidden [N, D], weight [V, D], target [N] ids -> (smoothed loss, negative log-likelihood), both summed, in nats.

    Only the first of the two has a gradient.
    """
    wanted = torch.is_grad_enabled()  # inside the function it never is
    loss, negative_log_likelihood = _SmoothedLoss.apply(hidden, weight, target, smoothing, wanted)  # type: ignore[no-untyped-call]
    return loss, negative_log_likelihood


def two_pass_loss(
    hidden: tuple[Tensor, Tensor], weight: Tensor, target: Tensor, smoothing: float, rdrop: float
) -> tuple[Tensor, Tensor]:
    """R-Drop (Liang et al. 2021, equation 4, halved): two hidden states [N, D] of each token, from different dropout masks.

    The mean of both smoothed losses + rdrop / 4 * (KL(p1 || p2) + KL(p2 || p1)); and the mean negative log-likelihood. With
    rdrop 0 the first is the mean of two `smoothed_loss`. Plain autograd, which keeps six arrays of N * V.
    """
    logs = [(states @ weight.T).to(weight.dtype).log_softmax(-1) for states in hidden]
    of_target = [log.gather(1, target[:, None]).sum() for log in logs]
    likelihood = -(of_target[0] + of_target[1]) / 2
    spread = -(logs[0].mean(-1).sum() + logs[1].mean(-1).sum()) / 2
    divergence = ((logs[0].exp() - logs[1].exp()) * (logs[0] - logs[1])).sum()
    loss = (1.0 - smoothing) * likelihood + smoothing * spread + rdrop / 4 * divergence
    return loss, likelihood.detach()


class TranslationLoss(nn.Module):
    """A model together with its loss, so that one forward call does both (as torch's DistributedDataParallel needs)."""

    def __init__(self, model: Transformer, smoothing: float, rdrop: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.rdrop = rdrop

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and negative log-likelihood, summed over the real target tokens of a batch.

        In training the loss has in it what unequally busy experts cost: so much a target token, so that it weighs the same
        in batches of any size.
        """
        real = batch.target_output != PAD
        target, matrix = batch.target_output[real], self.model.output_matrix
        hidden, imbalance = self._pass(batch, real)
        if self.rdrop and self.model.training:
            again, more = self._pass(batch, real)
            loss, likelihood = two_pass_loss((hidden, again), matrix, target, self.smoothing, self.rdrop)
            imbalance = (imbalance + more) / 2
        else:
            loss, likelihood = smoothed_loss(hidden, matrix, target, self.smoothing)
        return loss + self.model.config.balance * imbalance * real.sum(), likelihood

    def _pass(self, batch: Batch, real: Tensor) -> tuple[Tensor, Tensor | float]:
        """Hidden states of real target tokens [N, D] (the output layer is the largest product of all: no padding there)."""
        hidden = self.model(batch.source, batch.source_mask, batch.target_input)[real]
        imbalance = self.model.imbalance(batch.source_mask, real) if self.model.training else None
        return hidden, 0.0 if imbalance is None else imbalance
