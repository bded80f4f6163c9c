"""Gradients to steps: Adam, clipping, and its moments as named tensors for the checkpoint."""

import torch
from torch import Tensor, nn

from mtkit.config import schema


def build_optimizer(model: nn.Module, config: schema.Optimizer) -> torch.optim.Optimizer:
    """Adam with the paper's constants, fused into one kernel; matrices alone are decayed."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=0.0,  # set before each step
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )


def step(optimizer: torch.optim.Optimizer, model: nn.Module, rate: float, clip_norm: float) -> float:
    """One update at learning rate `rate`; returns the gradient's norm before clipping.

    A gradient that is not finite (then the returned norm is not) changes neither weights nor moments.
    """
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    value = float(norm)
    if torch.isfinite(norm):
        if 0.0 < clip_norm < value:
            torch._foreach_mul_(gradients, clip_norm / value)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    optimizer.zero_grad()
    return value


def moments(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimizer's state as `weight name/moment name` -> tensor."""
    return {
        f"{name}/{key}": torch.as_tensor(value)
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def load_moments(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Puts back what `moments` gave, onto the devices of the weights."""
    for name, parameter in model.named_parameters():
        found = {key.rpartition("/")[2]: value for key, value in tensors.items() if key.rpartition("/")[0] == name}
        optimizer.state[parameter] = {
            # The step count of a fused optimizer lies on the device too.
            key: value.to(parameter.device)
            for key, value in found.items()
        }
