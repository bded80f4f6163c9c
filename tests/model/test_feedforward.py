"""The feed-forward sublayer: equation 2 of the paper, its size, its dropout."""

import math

import pytest
import torch
from torch import nn

from mtkit.config import schema
from mtkit.model.feedforward import FEEDFORWARDS, Experts, GeluFeedForward, ReluFeedForward, SwigluFeedForward


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


def random_weights(module: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    for weight in module.parameters():
        nn.init.normal_(weight)
    return module.double()


def test_gelu_uses_the_normal_distribution() -> None:
    module = random_weights(GeluFeedForward(schema.Model(d_model=6, d_ff=9, heads=1)))
    x = torch.randn(2, 3, 6).double()
    inner = module.get_submodule("inner")(x)
    expected = module.get_submodule("outer")(inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2))))
    assert torch.allclose(module(x), expected, rtol=0, atol=1e-12)


def test_swiglu_gates_one_product_by_another() -> None:
    module = random_weights(SwigluFeedForward(schema.Model(d_model=6, d_ff=9, heads=1)))
    x = torch.randn(2, 3, 6).double()
    gate, value = (x @ half.T for half in module.get_parameter("inner.weight").chunk(2))
    expected = (gate * gate.sigmoid() * value) @ module.get_parameter("outer.weight").T
    assert torch.allclose(module(x), expected, rtol=0, atol=1e-12)


def test_two_thirds_of_the_inner_width_make_swiglu_as_large_as_the_others() -> None:
    with torch.device("meta"):
        sizes = [
            sum(weight.numel() for weight in FEEDFORWARDS[kind](schema.Model(d_ff=d_ff)).parameters())
            for kind, d_ff in (("relu", 2048), ("gelu", 2048), ("swiglu", 1368))
        ]
    assert sizes[0] == sizes[1]
    assert sizes[2] == pytest.approx(sizes[0], rel=0.002)


def some_experts(**options: object) -> Experts:
    module = random_weights(Experts(schema.Model.model_validate({"d_model": 6, "d_ff": 9, "heads": 1} | options)))
    assert isinstance(module, Experts)
    return module


@pytest.mark.parametrize("per_token", [1, 2, 4])
def test_each_token_goes_through_the_experts_that_the_router_thinks_best(per_token: int) -> None:
    module = some_experts(experts=4, experts_per_token=per_token)
    x = torch.randn(2, 7, 6).double()
    seen = module(x)
    for sentence in range(2):
        for token in range(7):
            vector = x[sentence, token]
            probabilities = (module.router.weight @ vector).softmax(0)
            best = probabilities.argsort(descending=True)[:per_token].tolist()
            share = probabilities[best].sum() if per_token > 1 else 1.0
            expected = sum(probabilities[number] / share * module.experts[number](vector) for number in best)
            assert torch.allclose(seen[sentence, token], torch.as_tensor(expected), rtol=0, atol=1e-12)


def test_no_token_is_dropped_though_all_choose_one_expert() -> None:
    module = some_experts(experts=4, experts_per_token=1).eval()
    x = torch.randn(1, 1, 6).double().expand(8, 100, 6)
    assert (module(x) - module(x[:1, :1])).abs().max() < 1e-12
    assert module(x[:1, :1]).abs().max() > 0.01


def test_an_expert_that_nobody_chose_has_a_gradient_of_zero_and_not_none() -> None:
    """DistributedDataParallel waits for the gradient of every weight."""
    module = some_experts(experts=4, experts_per_token=1)
    torch.autograd.backward(module(torch.randn(1, 1, 6).double()).sum())
    idle = [expert for expert in module.experts if all(weight.grad.count_nonzero() == 0 for weight in expert.parameters())]  # type: ignore[union-attr]
    assert len(idle) == 3


def test_imbalance_is_one_where_all_are_equally_busy_and_more_where_not() -> None:
    module = some_experts(experts=4, experts_per_token=1, d_model=4)
    module.router.weight.data = 50 * torch.eye(4).double()  # token e_i goes to expert i, for sure
    tokens = torch.eye(4).double()
    module(tokens[None])
    assert module.imbalance(None).item() == pytest.approx(1.0)
    module(tokens[[0, 0, 0, 0]][None])
    assert module.imbalance(None).item() == pytest.approx(4.0)
    module(tokens[[0, 0, 1, 2]][None])  # the last two are padding
    assert module.imbalance(torch.tensor([[True, True, False, False]])).item() == pytest.approx(4.0)


def test_imbalance_has_a_gradient_that_sends_tokens_elsewhere() -> None:
    module = some_experts(experts=4, experts_per_token=2)
    x = torch.randn(4, 50, 6).double() + 1
    module.router.weight.data[0] += 1  # everybody likes expert 0
    optimizer = torch.optim.SGD(module.router.parameters(), lr=0.5)
    found = []
    for _ in range(50):
        module(x)
        imbalance = module.imbalance(None)
        found.append(imbalance.item())
        optimizer.zero_grad()
        torch.autograd.backward(imbalance)
        optimizer.step()
    assert found[0] > 1.3
    assert found[-1] < 1.2
