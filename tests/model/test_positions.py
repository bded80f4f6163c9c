"""Sinusoidal positions: the paper's values and properties, at any length."""

import math

import pytest
import torch

from mtkit.config import schema
from mtkit.model.positions import Sinusoidal, sinusoids

NARROW = schema.Model(d_model=8)
FLOAT32 = 2**-24  # half the distance between the floats next to 1


@pytest.mark.parametrize("d_model", [2, 6, 512])
def test_the_papers_formula(d_model: int) -> None:
    table = sinusoids(3001, d_model)
    assert table.shape == (3001, d_model)
    for position in (0, 1, 2, 511, 512, 3000):
        for i in range(0, d_model, 2):
            angle = position / 10000 ** (i / d_model)
            assert table[position, i].item() == pytest.approx(math.sin(angle), abs=FLOAT32)
            assert table[position, i + 1].item() == pytest.approx(math.cos(angle), abs=FLOAT32)


@pytest.mark.parametrize("distance", [1, 7, 200])
def test_a_shift_is_one_linear_map_at_every_position(distance: int) -> None:
    d_model = 32
    table = sinusoids(1000, d_model).double()
    shift = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = distance / 10000 ** (i / d_model)
        shift[i : i + 2, i : i + 2] = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    assert torch.allclose(table[:-distance] @ shift.T, table[distance:], rtol=0, atol=4 * FLOAT32)


def test_wavelengths_run_geometrically_from_one_turn_towards_ten_thousand() -> None:
    first = sinusoids(2, 512)[1].double()
    wavelengths = 2 * math.pi / torch.atan2(first[0::2], first[1::2])
    steps = wavelengths[1:] / wavelengths[:-1]
    assert wavelengths[0].item() == pytest.approx(2 * math.pi, rel=1e-6)
    assert torch.allclose(steps, steps.new_tensor(10000 ** (2 / 512)), rtol=1e-6, atol=0)
    assert (wavelengths[-1] * steps[-1]).item() == pytest.approx(10000 * 2 * math.pi, rel=1e-6)


@pytest.mark.parametrize(("first", "length"), [(0, 513), (510, 5), (512, 1), (5000, 2), (0, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_table_grows_exactly(first: int, length: int, dtype: torch.dtype) -> None:
    positions = Sinusoidal(NARROW, False).to(dtype)
    expected = sinusoids(first + length, 8)[first:].to(dtype)
    for _ in range(2):  # growing, grown
        seen = positions.embed(torch.zeros(2, length, 8, dtype=dtype), first)
        assert seen.dtype == dtype
        assert torch.equal(seen, expected.expand(2, -1, -1))
    assert torch.equal(positions.embed(torch.zeros(1, 512, 8, dtype=dtype), 0)[0], sinusoids(512, 8).to(dtype))


def test_positions_are_added_to_what_is_embedded() -> None:
    embedded = torch.randn(2, 3, 8)
    assert torch.equal(Sinusoidal(NARROW, False).embed(embedded, 4), embedded + sinusoids(7, 8)[4:])


def test_a_table_grown_while_decoding_serves_training() -> None:
    positions = Sinusoidal(NARROW, False)
    with torch.inference_mode():
        positions.embed(torch.zeros(1, 600, 8), 0)
    embedded = torch.zeros(1, 600, 8, requires_grad=True)
    torch.autograd.backward(positions.embed(embedded, 0).sum())
    assert embedded.grad is not None
    assert bool((embedded.grad == 1).all())


def test_the_table_is_no_weight_and_stays_out_of_checkpoints() -> None:
    positions = Sinusoidal(NARROW, False)
    assert not list(positions.parameters())
    assert not positions.state_dict()
