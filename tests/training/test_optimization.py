"""Steps: torch's Adam, clipped gradients, what is left alone, averages, scaled losses, and state that survives (R1, R5)."""

import contextlib
import importlib.util
import math

import pytest
import torch
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.config.schema import Optimizer
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError
from mtkit.training.optimization import Optimization

HAS_SCHEDULE_FREE = importlib.util.find_spec("schedulefree") is not None
KINDS = {
    "adam": (Optimizer(), "float32"),
    "decayed and clipped": (Optimizer(weight_decay=0.1, clip_norm=0.5), "float32"),
    "averaged": (Optimizer(average=0.9), "float32"),
    "scaled": (Optimizer(), "float16"),
    "schedule-free": (Optimizer(kind="schedule_free", weight_decay=0.1), "float32"),
}


@pytest.fixture(params=KINDS)
def settings(request: pytest.FixtureRequest) -> tuple[Optimizer, str]:
    if request.param == "schedule-free" and not HAS_SCHEDULE_FREE:
        pytest.skip("the extra schedulefree is not installed")
    return KINDS[request.param]


def small() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def learn(model: nn.Module, optimization: Optimization, number: int, *, rate: float = 0.1) -> float:
    """Update `number` on data that depend on it alone; returns the gradient's norm."""
    torch.manual_seed(number)
    optimization.scaled(model(torch.randn(5, 3)).square().sum()).backward()  # type: ignore[no-untyped-call]
    return optimization.step(number, rate)


def copies(model: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def saved(optimization: Optimization) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in optimization.state().items()}


def equal(left: list[Tensor], right: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_a_step_is_adams() -> None:
    model, other = small(), small()
    optimization = Optimization(model, Optimizer())
    expected = torch.optim.Adam(other.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    for number, rate in enumerate((0.1, 0.3, 0.05), 1):
        learn(model, optimization, number, rate=rate)
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
    optimization = Optimization(model, Optimizer(weight_decay=0.5))
    before = dict(zip([name for name, _ in model.named_parameters()], copies(model), strict=True))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimization.step(1, 0.1)
    for name, parameter in model.named_parameters():
        share = 1.0 - 0.1 * 0.5 if parameter.dim() > 1 else 1.0
        assert torch.allclose(parameter, before[name] * share, rtol=1e-6, atol=0), name


def test_the_gradient_is_clipped_to_the_norm_and_told_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[Tensor]] = []

    def record(self: torch.optim.Optimizer, closure: object = None) -> None:
        taken.append([weight.grad.clone() for group in self.param_groups for weight in group["params"]])

    monkeypatch.setattr(torch.optim.AdamW, "step", record)

    def norm(clip: float) -> float:
        model = small()
        return learn(model, Optimization(model, Optimizer(clip_norm=clip)), 1)

    free = norm(0.0)
    assert free == norm(free / 4) == norm(free * 4)
    assert free == pytest.approx(math.sqrt(sum(float(gradient.square().sum()) for gradient in taken[0])), rel=1e-5)
    for whole, quarter, same in zip(*taken, strict=True):
        assert torch.allclose(quarter, whole / 4, rtol=1e-5, atol=0)
        assert torch.equal(same, whole)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_changes_nothing(settings: tuple[Optimizer, str], value: float) -> None:
    model = small()
    optimization = Optimization(model, *settings)
    learn(model, optimization, 1)
    weights, state = copies(model), saved(optimization)
    optimization.scaled(model(torch.randn(5, 3)).sum()).backward()  # type: ignore[no-untyped-call]
    last = list(model.parameters())[-1]
    assert last.grad is not None
    last.grad[0] = value
    assert not math.isfinite(optimization.step(2, 0.1))
    assert equal(weights, copies(model))
    for name, tensor in saved(optimization).items():
        if not name.startswith("scaler/"):
            assert torch.equal(tensor, state[name]), name
    assert last.grad is None
    assert math.isfinite(learn(model, optimization, 2))
    assert not equal(weights, copies(model))


def test_state_survives_a_checkpoint_bit_for_bit(settings: tuple[Optimizer, str]) -> None:
    """Saved as the trainer does: the model as it is evaluated, the rest as state."""
    model, other = small(), small()
    optimization = Optimization(model, *settings)
    for number in range(1, 4):
        learn(model, optimization, number)
    state = saved(optimization)
    with optimization.evaluating():
        kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    other.load_state_dict(kept)
    resumed = Optimization(other, *settings)
    resumed.load(state)
    for number in range(4, 7):
        assert learn(model, optimization, number) == learn(other, resumed, number)
    assert equal(copies(model), copies(other))
    assert saved(optimization).keys() == saved(resumed).keys()
    for name, tensor in saved(optimization).items():
        assert torch.equal(tensor, resumed.state()[name]), name


def test_without_averages_the_state_is_adams_moments() -> None:
    model = small()
    optimization = Optimization(model, Optimizer())
    assert optimization.state() == {}
    optimization.load({})
    learn(model, optimization, 1)
    assert optimization.state().keys() == {
        f"{name}/{kind}" for name, _ in model.named_parameters() for kind in ("step", "exp_avg", "exp_avg_sq")
    }


def test_judging_the_model_does_not_disturb_its_training(settings: tuple[Optimizer, str]) -> None:
    model, other = small(), small()
    watched, alone = Optimization(model, *settings), Optimization(other, *settings)
    for number in range(1, 6):
        learn(model, watched, number)
        learn(other, alone, number)
        with contextlib.suppress(ZeroDivisionError), watched.evaluating():
            _ = 1 / 0  # even if it fails
        assert equal(copies(model), copies(other))


def test_the_average_forgets_slowly_and_early_weights_fast() -> None:
    model = small()
    optimization = Optimization(model, Optimizer(average=0.6))
    average = copies(model)
    for number in range(1, 12):
        learn(model, optimization, number)
        decay = min(0.6, (1 + number) / (10 + number))
        average = [decay * old + (1 - decay) * new for old, new in zip(average, copies(model), strict=True)]
        raw = copies(model)
        with optimization.evaluating():
            for ours, expected in zip(copies(model), average, strict=True):
                assert torch.allclose(ours, expected, rtol=0, atol=1e-6)
            assert not equal(raw, copies(model))


def test_another_average_than_the_checkpoints_is_refused() -> None:
    model = small()
    optimization = Optimization(model, Optimizer(average=0.6))
    learn(model, optimization, 1)
    with pytest.raises(UserError, match=r"training.optimizer.average"):
        Optimization(model, Optimizer()).load(saved(optimization))


def test_the_scale_of_the_loss_falls_when_it_was_too_large_and_leaves_the_step_alone() -> None:
    model, other = small(), small()
    scaled, plain = Optimization(model, Optimizer(), "float16"), Optimization(other, Optimizer())
    loss = torch.ones(())
    begin = float(scaled.scaled(loss))
    assert begin > 1000
    for number in range(1, 4):
        learn(model, scaled, number)
        learn(other, plain, number)
    for ours, theirs in zip(copies(model), copies(other), strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-6)
    scaled.scaled(model(torch.randn(5, 3)).sum() * math.inf).backward()  # type: ignore[no-untyped-call]
    assert not math.isfinite(scaled.step(4, 0.1))
    assert float(scaled.scaled(loss)) == begin / 2


@pytest.mark.skipif(HAS_SCHEDULE_FREE, reason="the extra is installed")
def test_a_missing_extra_is_named() -> None:
    with pytest.raises(UserError, match=r"pip install 'mtkit\[schedulefree\]'"):
        Optimization(small(), Optimizer(kind="schedule_free"))


@pytest.mark.parametrize("positions", ["relative", "learned"])
def test_positions_are_not_decayed(positions: str) -> None:
    sizes = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "positions": positions}
    model = Transformer(schema.Model.model_validate(sizes), 20)
    optimization = Optimization(model, Optimizer(weight_decay=0.5))
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimization.step(1, 0.1)
    kept = {name for name, weight in model.named_parameters() if torch.equal(weight, before[name])}
    assert {name for name in before if "positions" in name} <= kept
    assert "embedding.weight" not in kept
    assert "encoder.0.feed_forward.inner.weight" not in kept
