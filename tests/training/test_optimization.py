"""Adam: torch's steps, clipped gradients, what is left alone, and moments that survive a checkpoint (R1, R5)."""

import math

import pytest
import torch
from torch import Tensor, nn

from mtkit.config.schema import Optimizer
from mtkit.training.optimization import build_optimizer, load_moments, moments, step


def small() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def learn(model: nn.Module, optimizer: torch.optim.Optimizer, number: int, *, rate: float = 0.1, clip: float = 0.0) -> float:
    """One step on data that depend on `number` alone; returns the gradient's norm."""
    torch.manual_seed(number)
    model(torch.randn(5, 3)).square().sum().backward()
    return step(optimizer, model, rate, clip)


def copies(model: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def equal(left: list[Tensor], right: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_a_step_is_adams() -> None:
    model, other = small(), small()
    optimizer = build_optimizer(model, Optimizer())
    expected = torch.optim.Adam(other.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    for number, rate in enumerate((0.1, 0.3, 0.05), 1):
        learn(model, optimizer, number, rate=rate)
        expected.param_groups[0]["lr"] = rate
        torch.manual_seed(number)
        other(torch.randn(5, 3)).square().sum().backward()
        expected.step()
        expected.zero_grad()
    for ours, theirs in zip(copies(model), copies(other), strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-6)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_weight_decay_is_decoupled_and_spares_vectors() -> None:
    model = small()
    optimizer = build_optimizer(model, Optimizer(weight_decay=0.5))
    before = dict(zip([name for name, _ in model.named_parameters()], copies(model), strict=True))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    step(optimizer, model, 0.1, 0.0)
    for name, parameter in model.named_parameters():
        share = 1.0 - 0.1 * 0.5 if parameter.dim() > 1 else 1.0
        assert torch.allclose(parameter, before[name] * share, rtol=1e-6, atol=0), name


def test_the_gradient_is_clipped_to_the_norm_and_told_as_it_was() -> None:
    taken: list[list[Tensor]] = []

    class Recorder(torch.optim.SGD):
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            taken.append([parameter.grad.clone() for group in self.param_groups for parameter in group["params"]])

    model = small()
    free = learn(model, Recorder(model.parameters(), lr=1.0), 1)
    clipped = learn(model, Recorder(model.parameters(), lr=1.0), 1, clip=free / 4)
    loose = learn(model, Recorder(model.parameters(), lr=1.0), 1, clip=free * 4)
    assert free == clipped == loose == pytest.approx(math.sqrt(sum(float(g.square().sum()) for g in taken[0])), rel=1e-5)
    for whole, quarter, same in zip(*taken, strict=True):
        assert torch.allclose(quarter, whole / 4, rtol=1e-5, atol=0)
        assert torch.equal(same, whole)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_changes_nothing(value: float) -> None:
    model = small()
    optimizer = build_optimizer(model, Optimizer())
    learn(model, optimizer, 1)
    weights, state = copies(model), {name: tensor.clone() for name, tensor in moments(optimizer, model).items()}
    model(torch.randn(5, 3)).sum().backward()
    last = list(model.parameters())[-1]
    assert last.grad is not None
    last.grad[0] = value
    assert not math.isfinite(step(optimizer, model, 0.1, 1.0))
    assert equal(weights, copies(model))
    assert equal(list(state.values()), list(moments(optimizer, model).values()))
    assert last.grad is None
    assert math.isfinite(learn(model, optimizer, 2))
    assert not equal(weights, copies(model))


def test_moments_survive_a_checkpoint() -> None:
    model, other = small(), small()
    optimizer = build_optimizer(model, Optimizer())
    for number in range(1, 4):
        learn(model, optimizer, number)
    saved = {name: tensor.clone() for name, tensor in moments(optimizer, model).items()}
    assert saved.keys() == {
        f"{name}/{kind}" for name, _ in model.named_parameters() for kind in ("step", "exp_avg", "exp_avg_sq")
    }
    other.load_state_dict(model.state_dict())
    resumed = build_optimizer(other, Optimizer())
    load_moments(resumed, other, saved)
    for number in range(4, 7):
        assert learn(model, optimizer, number) == learn(other, resumed, number)
    assert equal(copies(model), copies(other))


def test_before_the_first_step_there_are_no_moments() -> None:
    model = small()
    optimizer = build_optimizer(model, Optimizer())
    assert moments(optimizer, model) == {}
    load_moments(optimizer, model, {})
    learn(model, optimizer, 1)
    assert moments(optimizer, model)
