"""The feed-forward sublayer: equation 2 of the paper, its size, its dropout."""

import math

import pytest
import torch

from mtkit.config import schema
from mtkit.model.feedforward import FEEDFORWARDS, ReluFeedForward


def test_relu_is_the_papers_equation() -> None:
    module = ReluFeedForward(schema.Model(d_model=2, d_ff=2, heads=1))
    module.load_state_dict(
        {
            "inner.weight": torch.tensor([[1.0, 0.0], [-1.0, 0.0]]),
            "inner.bias": torch.tensor([0.5, 0.0]),
            "outer.weight": torch.tensor([[10.0, 100.0], [0.0, 0.0]]),
            "outer.bias": torch.tensor([7.0, 0.0]),
        }
    )
    # max(0, x + 1/2) * 10 + max(0, -x) * 100 + 7
    x = torch.tensor([[[2.0, 9.0], [-0.25, 9.0], [-3.0, 9.0]]])
    assert module(x)[..., 0].flatten().tolist() == [32.0, 34.5, 307.0]


def test_the_base_size_has_the_papers_number_of_weights() -> None:
    with torch.device("meta"):
        module = ReluFeedForward(schema.Model())
    assert sum(weight.numel() for weight in module.parameters()) == 2_099_712


def test_weights_start_as_glorot_and_biases_at_zero() -> None:
    module = ReluFeedForward(schema.Model(d_model=64, d_ff=192))
    bound = math.sqrt(6 / (64 + 192))
    for linear in (module.inner, module.outer):
        assert 0.99 * bound < linear.weight.abs().max() <= bound
        assert linear.bias.count_nonzero() == 0


def test_inner_units_are_dropped_in_training_only() -> None:
    torch.manual_seed(1)
    module = ReluFeedForward(schema.Model(d_model=50, d_ff=50, heads=5, feedforward_dropout=0.5))
    for linear in (module.inner, module.outer):
        torch.nn.init.eye_(linear.weight)
    x = torch.ones(1, 4, 50)
    assert set(module(x).flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(module.eval()(x), x)


@pytest.mark.parametrize("kind", FEEDFORWARDS)
def test_positions_do_not_meet(kind: str) -> None:
    torch.manual_seed(1)
    module = FEEDFORWARDS[kind](schema.Model(d_model=8, d_ff=16)).double()
    x = torch.randn(2, 5, 8).double()
    changed = x.clone()
    changed[:, 2] += 1
    others = [0, 1, 3, 4]
    assert torch.allclose(module(x)[:, others], module(changed)[:, others], rtol=0, atol=1e-12)
    assert not torch.allclose(module(x)[:, 2], module(changed)[:, 2])
