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


class _SmoothedLoss(torch.autograd.Function):
    """Loss of hidden states against an output matrix, without keeping logits *and* probabilities *and* their gradient.

    With p = softmax(z), dloss/dz = p - (1 - e) onehot(t) - e/V. Only p is stored; the other two terms reach the hidden
    states and the matrix directly, as a row of W, its mean row and an index_add.
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        hidden, matrix = hidden.to(dtype), weight.to(dtype)
        logits = (hidden @ matrix.T).to(weight.dtype)
        of_target = logits.gather(1, target[:, None])[:, 0]
        top, best = logits.max(dim=1)
        mean = (hidden @ matrix.mean(0)).to(weight.dtype)
        probabilities = torch.softmax(logits, dim=1, out=logits)
        # The largest probability is at least 1/V, so its logarithm is exact where that of the target's may underflow.
        log_sum = top - probabilities.gather(1, best[:, None])[:, 0].log()
        loss = log_sum - (1.0 - smoothing) * of_target - smoothing * mean
        ctx.save_for_backward(hidden, weight, target, probabilities.to(dtype))
        ctx.smoothing = smoothing  # type: ignore[attr-defined]
        negative_log_likelihood = (log_sum - of_target).sum()
        ctx.mark_non_differentiable(negative_log_likelihood)
        return loss.sum(), negative_log_likelihood

    @staticmethod
    @once_differentiable
    def backward(
        ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        hidden, weight, target, probabilities = ctx.saved_tensors  # type: ignore[attr-defined]
        smoothing: float = ctx.smoothing  # type: ignore[attr-defined]
        scale = gradients[0]
        matrix = weight.to(hidden.dtype)
        of_target = (1.0 - smoothing) * matrix[target] + smoothing * matrix.mean(0)
        hidden_gradient = (probabilities @ matrix).sub_(of_target).mul_(scale)
        weight_gradient = (probabilities.T @ hidden).to(weight.dtype).mul_(scale)
        scaled = hidden.to(weight.dtype) * scale
        weight_gradient.sub_(scaled.sum(0) * (smoothing / len(weight)))
        weight_gradient.index_add_(0, target, scaled, alpha=smoothing - 1.0)
        return hidden_gradient, weight_gradient, None, None


def smoothed_loss(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """hidden [N, D], weight [V, D], target [N] ids -> (smoothed loss, negative log-likelihood), both summed, in nats.

    Only the first of the two has a gradient.
    """
    loss, negative_log_likelihood = _SmoothedLoss.apply(hidden, weight, target, smoothing)  # type: ignore[no-untyped-call]
    return loss, negative_log_likelihood


def two_pass_loss(
    hidden: tuple[Tensor, Tensor], weight: Tensor, target: Tensor, smoothing: float, rdrop: float
) -> tuple[Tensor, Tensor]:
    """R-Drop (Liang et al. 2021, equation 4, halved): two hidden states [N, D] of each token, from different dropout masks.

    The mean of both smoothed losses + rdrop / 4 * (KL(p1 || p2) + KL(p2 || p1)); and the mean negative log-likelihood. With
    rdrop 0 the first is the mean of two `smoothed_loss`. Plain autograd: it keeps two arrays of N * V.
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
