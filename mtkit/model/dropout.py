"""Dropout whose masks are cheap on a CPU.

torch draws a CPU mask one Bernoulli number at a time, which takes longer than the matrix products of a small model. Here a
mask is made of 16 random bits an element, drawn 64 at a time; its seed comes from torch's generator, so `torch.manual_seed`
decides it all the same (the position law). On other devices torch's own kernel is used.
"""

import numpy as np
import torch
from torch import Tensor, nn

LEVELS = 2**16


class _ScaledMask(torch.autograd.Function):
    """x * mask / (1 - rate). Written out because autograd would keep x as well, and multiply once more."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradients[0] * mask, None


def scaled_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> Tensor:
    """A CPU tensor of `shape` with entries 0 (share `rate`, to 1/65536) and 1/(1 - rate), from torch's generator."""
    count = shape.numel()
    seed = int(torch.randint(0, 2**62, ()).item())
    words = np.random.SFC64(seed).random_raw(-(-count // 4))
    bits = torch.from_numpy(words.view(np.int16)[:count]).view(shape)
    threshold = min(round(rate * LEVELS), LEVELS - 1)
    mask = torch.ge(bits, threshold - LEVELS // 2, out=torch.empty(shape, dtype=dtype))
    return mask.mul_(LEVELS / (LEVELS - threshold))


class Dropout(nn.Module):
    """Zeroes a share `rate` of the elements in training and scales the rest by 1/(1 - rate); nothing in evaluation."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Any shape to the same shape."""
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu":
            return nn.functional.dropout(x, self.rate)
        masked: Tensor = _ScaledMask.apply(x, scaled_mask(x.shape, self.rate, x.dtype))  # type: ignore[no-untyped-call]
        return masked

    def extra_repr(self) -> str:
        """Shown by print(model)."""
        return f"rate={self.rate}"
