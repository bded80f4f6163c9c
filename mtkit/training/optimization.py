"""Gradients to steps: Adam or Schedule-Free Adam, clipping, loss scaling, averaged weights; and its state as named tensors.

Comes in: a model whose weights have gradients. Goes out: the model a step further. What validation looks at and a checkpoint
keeps as the model may differ from the weights in training: `evaluating` puts it in their place.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.support.errors import UserError

RAW, AVERAGE, GROUP, SCALER = "raw", "average", "group", "scaler"
"""Names in the state beside those of moments: weights in training, their average; the optimizer's and scaler's numbers."""

SCHEDULE_FREE_NUMBERS = ("k", "weight_sum", "lr_max", "scheduled_lr")
"""What the schedulefree library counts for all weights together."""


class Optimization:
    """The optimizer of a model, with what surrounds its steps. `precision` float16 scales the loss (torch's GradScaler)."""

    def __init__(self, model: nn.Module, config: schema.Optimizer, precision: str = "float32") -> None:
        self._named = dict(model.named_parameters())
        self._config = config
        self._optimizer = _schedule_free(model, config) if config.kind == "schedule_free" else _adam(model, config)
        device = next(iter(self._named.values())).device.type
        self._scaler = torch.amp.GradScaler(device, enabled=precision == "float16")
        self._average: dict[str, Tensor] = {}
        if config.average:
            self._average = {name: weight.detach().clone() for name, weight in self._named.items()}

    def scaled(self, loss: Tensor) -> Tensor:
        """What to call `backward` on: in float16 the loss is scaled up, so that small gradients do not vanish."""
        scaled: Tensor = self._scaler.scale(loss)
        return scaled

    def step(self, number: int, rate: float) -> float:
        """Update `number` (from 1) at learning rate `rate`; returns the gradient's norm before clipping.

        A gradient that is not finite (then the returned norm is not) changes neither weights nor moments.
        """
        if self._scaler.is_enabled():
            self._scaler.unscale_(self._optimizer)
        gradients = [weight.grad for weight in self._named.values() if weight.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        value = float(norm)
        if torch.isfinite(norm):
            if 0.0 < self._config.clip_norm < value:
                torch._foreach_mul_(gradients, self._config.clip_norm / value)
            for group in self._optimizer.param_groups:
                group["lr"] = rate
            self._optimizer.step()
            self._add_to_average(number)
        self._scaler.update()
        self._optimizer.zero_grad()
        return value

    def _add_to_average(self, number: int) -> None:
        """Early updates count for more than the decay says, or the average would long be that of the initial weights."""
        if self._average:
            decay = min(self._config.average, (1.0 + number) / (10.0 + number))
            torch._foreach_lerp_(list(self._average.values()), list(self._named.values()), 1.0 - decay)

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """Inside, the model has the weights it is to be judged and kept by. Afterwards those in training, bit for bit."""
        free = self._config.kind == "schedule_free"
        if not (self._average or free):
            yield
            return
        raw = {name: weight.detach().clone() for name, weight in self._named.items()}
        if free:
            self._optimizer.eval()  # type: ignore[attr-defined]
        self._put(self._average)
        try:
            yield
        finally:
            if free:
                self._optimizer.train()  # type: ignore[attr-defined]
            self._put(raw)

    def _put(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, weight in weights.items():
                self._named[name].copy_(weight)

    def state(self) -> dict[str, Tensor]:
        """All that `load` needs to go on bit for bit, as `name of a weight/what it is of it` -> tensor.

        Only outside `evaluating`.
        """
        state = {
            f"{name}/{key}": torch.as_tensor(value)
            for name, weight in self._named.items()
            for key, value in self._optimizer.state.get(weight, {}).items()
        }
        state |= {f"{name}/{AVERAGE}": tensor for name, tensor in self._average.items()}
        free = self._config.kind == "schedule_free"
        if self._average or free:  # then the model that a checkpoint holds is another one
            state |= {f"{name}/{RAW}": weight.detach().clone() for name, weight in self._named.items()}
        if free:
            numbers = self._optimizer.param_groups[0]
            state |= {
                f"{GROUP}/{key}": torch.tensor(float(numbers[key]), dtype=torch.float64) for key in SCHEDULE_FREE_NUMBERS
            }
        if self._scaler.is_enabled():
            scaler = self._scaler.state_dict()
            state |= {f"{SCALER}/{key}": torch.tensor(float(scaler[key]), dtype=torch.float64) for key in sorted(scaler)}
        return state

    def load(self, state: dict[str, Tensor]) -> None:
        """Puts back what `state` gave, onto the devices of the weights. UserError if other settings gave it."""
        parts: dict[str, dict[str, Tensor]] = {name: {} for name in (*self._named, GROUP, SCALER)}
        for key, tensor in state.items():
            name, _, kind = key.rpartition("/")
            parts.setdefault(name, {})[kind] = tensor
        for name, weight in self._named.items():
            of_weight = parts[name]
            if (AVERAGE in of_weight) != bool(self._average) and of_weight:
                raise UserError("the checkpoint was written with another training.optimizer.average: it cannot be changed")
            if AVERAGE in of_weight:
                self._average[name].copy_(of_weight.pop(AVERAGE))
            if RAW in of_weight:
                weight.data.copy_(of_weight.pop(RAW))
            # The step count of a fused optimizer lies on the device too.
            self._optimizer.state[weight] = {key: value.to(weight.device) for key, value in of_weight.items()}
        for group in self._optimizer.param_groups:
            for key, value in parts[GROUP].items():
                group[key] = int(value) if key == "k" else float(value)
        if parts[SCALER] and self._scaler.is_enabled():
            numbers = {key: float(value) for key, value in parts[SCALER].items()}
            whole = ("growth_interval", "_growth_tracker")
            self._scaler.load_state_dict({key: int(n) if key in whole else n for key, n in numbers.items()})


def _groups(model: nn.Module, config: schema.Optimizer) -> list[dict[str, object]]:
    """Matrices of linear maps and embeddings are decayed; biases (those of positions too) and gains are not."""
    maps = [part.weight for part in model.modules() if isinstance(part, nn.Linear | nn.Embedding)]
    own = {id(weight) for weight in maps}
    matrices = [weight for weight in model.parameters() if id(weight) in own]
    others = [weight for weight in model.parameters() if id(weight) not in own]
    decay = config.weight_decay
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def _adam(model: nn.Module, config: schema.Optimizer) -> torch.optim.Optimizer:
    """Adam with the paper's constants and decoupled weight decay, in one kernel. The rate is set before each step."""
    betas = (config.beta1, config.beta2)
    return torch.optim.AdamW(_groups(model, config), lr=0.0, betas=betas, eps=config.epsilon, fused=True)


def _schedule_free(model: nn.Module, config: schema.Optimizer) -> torch.optim.Optimizer:
    """Schedule-Free AdamW (Defazio et al. 2024): no decay of the rate, an average of all weights so far instead."""
    try:
        import schedulefree
    except ModuleNotFoundError:
        raise UserError(
            "training.optimizer.kind: schedule_free needs the schedulefree library: pip install 'mtkit[schedulefree]'"
        ) from None
    betas = (config.beta1, config.beta2)
    optimizer: torch.optim.Optimizer = schedulefree.AdamWScheduleFree(
        _groups(model, config), lr=1.0, betas=betas, eps=config.epsilon, foreach=True
    )
    optimizer.train()  # type: ignore[attr-defined]
    return optimizer
