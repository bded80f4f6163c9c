"""Sinusoidal positions: the paper's values and properties, at any length."""

import math

import pytest
import torch

from mtkit.config import schema
from mtkit.model.positions import (
    POSITIONS,
    Alibi,
    ConcatenatedSinusoidal,
    Learned,
    RelativeBias,
    Rotary,
    Sinusoidal,
    alibi_slopes,
    concatenated_sinusoids,
    rotate,
    sinusoids,
)

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


def test_the_concatenated_form_has_its_own_wavelengths() -> None:
    """tensor2tensor: timescales from 1 to 10000 in even steps of the logarithm, all sines before all cosines."""
    table = concatenated_sinusoids(100, 8)
    for position in (0, 1, 57, 99):
        for i in range(4):
            angle = position / 10000 ** (i / 3)
            assert table[position, i].item() == pytest.approx(math.sin(angle), abs=FLOAT32)
            assert table[position, 4 + i].item() == pytest.approx(math.cos(angle), abs=FLOAT32)
    assert torch.equal(ConcatenatedSinusoidal(NARROW, False).embed(torch.zeros(1, 600, 8), 0)[0, :100], table)
    assert concatenated_sinusoids(3, 2).isfinite().all()


def test_learned_positions_are_added_and_end() -> None:
    positions = Learned(NARROW.model_copy(update={"learned_positions": 5}), False)
    embedded = torch.randn(2, 3, 8)
    assert torch.equal(positions.embed(embedded, 2), embedded + positions.vectors[2:5])
    assert positions.longest == 5
    with pytest.raises(AssertionError, match="position 6 of 5"):
        positions.embed(embedded, 3)


def test_rotary_turns_pairs_by_the_papers_angles() -> None:
    positions = Rotary(schema.Model(d_model=16, heads=2), False)
    x = torch.randn(1, 2, 3, 8)
    turned = rotate(x, positions.rotation(7, 3))
    for token in range(3):
        for i in range(4):
            angle = (7 + token) / 10000 ** (2 * i / 8)
            point = complex(x[0, 1, token, i], x[0, 1, token, i + 4]) * complex(math.cos(angle), math.sin(angle))
            assert turned[0, 1, token, i].item() == pytest.approx(point.real, abs=1e-5)
            assert turned[0, 1, token, i + 4].item() == pytest.approx(point.imag, abs=1e-5)


@pytest.mark.parametrize("far", [3, 700])
def test_rotary_scores_depend_on_the_distance_alone(far: int) -> None:
    positions = Rotary(schema.Model(d_model=16, heads=2), False).double()
    query, key = torch.randn(1, 1, 4, 8).double(), torch.randn(1, 1, 4, 8).double()
    near, moved = (
        rotate(query, turn) @ rotate(key, turn).mT for turn in (positions.rotation(0, 4), positions.rotation(far, 4))
    )
    assert torch.allclose(near, moved, rtol=0, atol=1e-5)
    assert not torch.allclose(near, query @ key.mT, atol=0.1)


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (2, [2**-4, 2**-8]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
    ],
)
def test_alibi_slopes_are_a_geometric_sequence(heads: int, slopes: list[float]) -> None:
    assert alibi_slopes(heads) == pytest.approx(slopes)


def test_alibi_takes_slope_times_distance() -> None:
    positions = Alibi(schema.Model(d_model=16, heads=2), True)
    assert positions.bias(0, 3)[0].tril().tolist() == [[0, 0, 0], [-1 / 16, 0, 0], [-2 / 16, -1 / 16, 0]]
    assert positions.bias(3, 1)[1].tolist() == [[-3 / 256, -2 / 256, -1 / 256, 0]]


def test_alibi_tells_left_from_right_by_heads_that_differ() -> None:
    bias = Alibi(schema.Model(d_model=16, heads=2), False).bias(0, 2)
    assert bias.tolist() == [[[0, -1 / 256], [-1 / 16, 0]], [[0, -1 / 16], [-1 / 256, 0]]]


def test_buckets_of_relative_positions() -> None:
    """16 buckets to the left: one each for distances 0 … 7 in the encoder, then ranges up to 128."""
    encoder, decoder = RelativeBias(schema.Model(), False), RelativeBias(schema.Model(), True)
    distances = torch.tensor([0, 1, 7, 8, 11, 12, 16, 23, 64, 90, 91, 127, 128, 5000])
    expected = [0, 1, 7, 8, 8, 9, 10, 11, 14, 14, 15, 15, 15, 15]
    assert encoder.bucket(distances).tolist() == expected
    assert encoder.bucket(-distances)[1:].tolist() == [16 + bucket for bucket in expected[1:]]
    assert decoder.bucket(torch.tensor([-3, 0, 15, 16, 127, 128, 9999])).tolist() == [0, 0, 15, 16, 31, 31, 31]
    assert set(decoder.bucket(torch.arange(200)).tolist()) == set(range(32))
    assert set(encoder.bucket(torch.arange(-200, 200)).tolist()) == set(range(32)) - {
        16
    }  # distance 0 is no way to the right


def test_a_relative_bias_is_that_of_its_bucket() -> None:
    positions = RelativeBias(schema.Model(d_model=16, heads=2), False)
    bias = positions.bias(0, 300)
    assert bias.shape == (2, 300, 300)
    for query, key in ((5, 5), (5, 2), (2, 5), (290, 1)):
        bucket = int(positions.bucket(torch.tensor(query - key)))
        assert torch.equal(bias[:, query, key], positions.biases[:, bucket])


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("causal", [False, True])
def test_a_part_of_a_sentence_has_the_positions_of_the_whole(name: str, causal: bool) -> None:
    positions = POSITIONS[name](schema.Model(d_model=16, heads=2), causal)
    whole, part = torch.zeros(1, 600, 16), torch.zeros(1, 50, 16)
    assert torch.equal(positions.embed(part, 550), positions.embed(whole, 0)[:, 550:])
    rotation, bias = positions.rotation(0, 600), positions.bias(0, 600)
    if rotation is not None:
        assert torch.equal(torch.as_tensor(positions.rotation(550, 50)), rotation[:, 550:])
    if bias is not None:
        assert torch.equal(torch.as_tensor(positions.bias(550, 50)), bias[:, 550:])
    told = [rotation is not None, bias is not None, positions.embed(whole, 0).count_nonzero() > 0]
    assert told.count(True) == 1, "each scheme tells the order in one way"


def test_rotary_goes_on_exactly_beyond_its_first_table() -> None:
    positions = Rotary(NARROW.model_copy(update={"heads": 1}), False)
    cosines, sines = positions.rotation(510, 1000)
    for token, position in ((0, 510), (2, 512), (3, 513), (999, 1509)):
        for i in range(4):
            angle = position / 10000 ** (2 * i / 8)
            assert cosines[token, i].item() == pytest.approx(math.cos(angle), abs=FLOAT32)
            assert sines[token, i].item() == pytest.approx(math.sin(angle), abs=FLOAT32)
