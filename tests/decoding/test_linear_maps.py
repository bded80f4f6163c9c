"""Packed linear maps: float32 as torch's own, rounded ones within their digits, rows that know nothing of each other."""

import copy

import pytest
import torch
from torch import nn

from mtkit.config import schema
from mtkit.decoding.linear_maps import LEVELS, MAPS, Int8Map, lacking, with_maps
from mtkit.model.transformer import Transformer

pytestmark = pytest.mark.skipif(lacking("float32") is not None, reason="a torch without oneDNN")
TOLERANCES = {"float32": 1e-6, "bfloat16": 1e-2, "int8": 2e-2}
AVAILABLE = [precision for precision in MAPS if lacking(precision) is None]


def linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    torch.manual_seed(inputs + outputs)
    made = nn.Linear(inputs, outputs, bias=bias)
    nn.init.normal_(made.weight, std=inputs**-0.5)
    return made


@torch.no_grad()
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 64), (7, 64), (130, 64), (3, 5, 64)], ids=str)
@pytest.mark.parametrize("precision", AVAILABLE)
def test_a_map_is_the_linear_map_within_its_digits(precision: str, shape: tuple[int, ...], bias: bool) -> None:
    plain = linear(64, 48, bias=bias)
    x = torch.randn(shape) * 3
    found = MAPS[precision](plain)(x)
    assert found.dtype == torch.float32
    assert found.shape == (*shape[:-1], 48)
    error = (found - plain(x)).abs().max() / plain(x).abs().max()
    assert error < TOLERANCES[precision]
    assert (error > 0) or precision == "float32"


@torch.no_grad()
@pytest.mark.parametrize("precision", AVAILABLE)
def test_a_row_does_not_depend_on_the_others(precision: str) -> None:
    """Not even on one whose numbers are a million times as large, which would spoil a scale that they shared."""
    packed = MAPS[precision](linear(64, 48))
    x = torch.randn(40, 64)
    x[20] *= 1e6
    together = packed(x)
    for row in (0, 19, 39):
        torch.testing.assert_close(packed(x[row : row + 1])[0], together[row], rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.skipif("int8" not in AVAILABLE, reason="a CPU without VNNI")
def test_int8_is_exact_where_there_is_nothing_to_round() -> None:
    """Whole numbers up to 127, the largest in each row: also the extremes, which an unsigned detour might cut off."""
    plain = nn.Linear(40, 8)
    with torch.no_grad():
        plain.weight.copy_(torch.randint(-LEVELS, LEVELS + 1, (8, 40)))
        plain.weight[:, 0] = LEVELS
    x = torch.randint(-LEVELS, LEVELS + 1, (6, 40)).float()
    x[:3, 1], x[3:, 1] = LEVELS, -LEVELS
    torch.testing.assert_close(Int8Map(plain)(x), plain(x), rtol=1e-6, atol=1e-3)


@torch.no_grad()
@pytest.mark.skipif("int8" not in AVAILABLE, reason="a CPU without VNNI")
def test_rows_of_zeros_stay_zero() -> None:
    plain = linear(16, 4, bias=False)
    plain.weight[2] = 0.0
    found = Int8Map(plain)(torch.zeros(3, 16))
    assert torch.equal(found, torch.zeros(3, 4))
    assert torch.isfinite(Int8Map(plain)(torch.randn(3, 16))).all()


@torch.no_grad()
def test_a_twin_leaves_its_model_alone() -> None:
    sizes = {"d_model": 16, "d_ff": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward": "swiglu"}
    model = Transformer(schema.Model.model_validate(sizes), 20)
    before = copy.deepcopy(model.state_dict())
    twin = with_maps(model, "float32").eval()
    source = torch.randint(4, 20, (2, 5))
    torch.testing.assert_close(twin(source, None, source), model.eval()(source, None, source))
    assert not any(isinstance(module, nn.Linear) for module in twin.modules())
    assert twin.embedding.weight is model.embedding.weight, "what is not packed is shared"
    assert model.train().training
    assert not twin.training
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
