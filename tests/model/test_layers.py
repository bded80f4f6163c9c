"""The wrapper around sublayers: what is added, dropped and normalised, in which order."""

import pytest
import torch
from torch.nn import functional as F

from mtkit.config import schema
from mtkit.model.layers import PLACEMENTS, PostNorm

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
