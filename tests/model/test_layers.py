"""The wrapper around sublayers: what is added, dropped and normalised, in which order."""

import pytest
import torch
from torch.nn import functional as F

from mtkit.config import schema
from mtkit.model.layers import NORMS, PLACEMENTS, PostNorm, PreNorm, SandwichNorm, final_norm

CONFIG = schema.Model(d_model=64, heads=4, dropout=0.5)


def test_post_norm_normalises_the_sum() -> None:
    torch.manual_seed(1)
    residual = PostNorm(CONFIG).double().eval()
    norm = residual.norm
    assert isinstance(norm, torch.nn.LayerNorm)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x = torch.randn(2, 3, 64).double()
    expected = F.layer_norm(x + x.cos(), (64,), norm.weight, norm.bias)
    assert torch.allclose(residual(x, torch.cos), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_dropout_spares_the_residual_connection(placement: str) -> None:
    residual = PLACEMENTS[placement](CONFIG)
    x = torch.randn(2, 3, 64)
    assert torch.equal(residual(x, torch.zeros_like), residual.eval()(x, torch.zeros_like))


def test_the_sublayers_output_is_dropped_before_the_sum() -> None:
    torch.manual_seed(1)
    residual = PostNorm(CONFIG).double()
    x = torch.randn(20, 1, 64).double()
    seen = residual(x, torch.ones_like)
    dropped = (seen - residual.norm(x)).abs().amax(-1)
    assert (dropped > 0.1).all(), "in training, a sublayer's output of ones would vanish in the norm without dropout"
    assert torch.allclose(residual.eval()(x, torch.ones_like), residual.norm(x + 1), rtol=0, atol=1e-12)


def with_random_gain(module: torch.nn.Module) -> torch.nn.Module:
    for weight in module.parameters():
        torch.nn.init.normal_(weight)
    return module.double().eval()


def test_pre_norm_normalises_what_goes_in_and_sandwich_what_comes_out_too() -> None:
    torch.manual_seed(1)
    pre, sandwich = with_random_gain(PreNorm(CONFIG)), with_random_gain(SandwichNorm(CONFIG))
    x = torch.randn(2, 3, 64).double()
    norm, output_norm = pre.get_submodule("norm"), sandwich.get_submodule("output_norm")
    assert torch.allclose(pre(x, torch.cos), x + norm(x).cos(), rtol=0, atol=1e-12)
    inner = sandwich.get_submodule("norm")(x)
    assert torch.allclose(sandwich(x, torch.cos), x + output_norm(inner.cos()), rtol=0, atol=1e-12)


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    torch.manual_seed(1)
    norm = with_random_gain(NORMS["rms"](64))
    x = torch.randn(2, 3, 64).double() * 5 + 2
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.get_parameter("weight")
    assert torch.allclose(norm(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_what_leaves_the_last_layer_is_normalised(placement: str) -> None:
    config = schema.Model.model_validate({"norm_placement": placement})
    residual, norm = PLACEMENTS[placement](config).eval(), final_norm(config)
    x = torch.randn(2, 3, 512) * 7 + 1
    last = norm(residual(x, torch.cos))
    assert last.mean(-1).abs().max() < 1e-5
    assert torch.allclose(last.std(-1), torch.ones(2, 3), atol=0.01)


def test_in_a_sandwich_what_was_normalised_is_dropped_last() -> None:
    """So about half of it is zero, which it would not be after a norm."""
    torch.manual_seed(1)
    sandwich = SandwichNorm(CONFIG)
    x = torch.randn(20, 3, 64)
    added = sandwich(x, torch.cos) - x
    assert (added.abs() < 1e-6).float().mean().item() == pytest.approx(0.5, abs=0.05)


def test_rms_norm_takes_what_autocast_makes_without_a_word() -> None:
    norm = NORMS["rms"](64)
    x = torch.randn(2, 64).bfloat16()
    assert torch.equal(norm(x), norm(x.float()))
