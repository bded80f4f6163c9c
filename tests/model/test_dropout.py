"""Dropout with cheap masks: the right share, the right scale, decided by torch's seed alone."""

import math

import pytest
import torch
from torch import Tensor

from mtkit.model.dropout import Dropout, scaled_mask

MANY = 2**22


def mask(rate: float, seed: int = 1, count: int = MANY) -> Tensor:
    torch.manual_seed(seed)
    return scaled_mask(torch.Size([count]), rate, torch.float32)


# The smallest and the largest rates see an error of 1/65536 in the threshold; the others the paper's settings.
@pytest.mark.parametrize("rate", [1 / 65536, 3 / 65536, 0.1, 0.3, 0.5, 0.9, 1 - 3 / 65536, 1 - 1 / 65536])
def test_the_dropped_share_is_the_rate(rate: float) -> None:
    dropped = int((mask(rate) == 0).sum())
    assert abs(dropped - MANY * rate) < 5 * math.sqrt(MANY * rate * (1 - rate))


@pytest.mark.parametrize("rate", [1 / 65536, 0.1, 0.25, 0.5, 0.9, 1 - 1 / 65536])
def test_kept_values_make_up_for_the_dropped_ones(rate: float) -> None:
    kept = scaled_mask(torch.Size([MANY]), rate, torch.float64)
    scale = kept.max().item()
    assert bool(((kept == 0.0) | (kept == scale)).all())
    share = round(rate * 65536) / 65536
    assert scale == 1 / (1 - share), "the mean is 1 at the rate that is really drawn"


@pytest.mark.parametrize("lag", range(1, 9))
def test_elements_are_dropped_independently(lag: int) -> None:
    dropped = (mask(0.3) == 0).double() - 0.3
    covariance = (dropped[lag:] * dropped[:-lag]).mean().item()
    assert abs(covariance) < 5 * 0.3 * 0.7 / math.sqrt(MANY)


def test_torchs_seed_decides_the_mask() -> None:
    assert torch.equal(mask(0.5, seed=1), mask(0.5, seed=1))
    different = mask(0.5, seed=1) != mask(0.5, seed=2)
    assert abs(int(different.sum()) - MANY / 2) < 5 * math.sqrt(MANY) / 2


def test_each_call_draws_a_new_mask_and_a_seed_decides_them_all() -> None:
    dropout, x = Dropout(0.5), torch.ones(1000)
    torch.manual_seed(3)
    first = [dropout(x) for _ in range(3)]
    assert not any(torch.equal(first[a], first[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    torch.manual_seed(3)
    assert all(torch.equal(dropout(x), again) for again in first)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(1,), (3,), (5,), (0,), (3, 5, 7), (2, 3, 4)])
def test_any_shape_and_type_keep_theirs(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.full(shape, 3.0, dtype=dtype)
    seen = Dropout(0.5)(x)
    assert (seen.shape, seen.dtype) == (x.shape, dtype)
    assert set(seen.flatten().tolist()) <= {0.0, 6.0}


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_last_elements_of_an_odd_count_are_dropped_too(count: int) -> None:
    torch.manual_seed(1)
    dropped = sum((Dropout(0.5)(torch.ones(count)) == 0).long() for _ in range(400))
    assert isinstance(dropped, Tensor)
    assert bool(((dropped - 200).abs() < 50).all()), "five standard deviations of 10"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_gradient_passes_the_same_mask(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.ones(1000, dtype=dtype, requires_grad=True)
    seen = Dropout(0.3)(x)
    seen.backward(torch.full_like(seen, 2.0))
    assert x.grad is not None
    assert 0 < int((seen == 0).sum()) < 1000
    assert torch.equal(x.grad, 2 * seen.detach())


def test_evaluation_and_rate_zero_change_nothing_and_draw_nothing() -> None:
    x = torch.randn(100)
    before = torch.get_rng_state()
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(torch.get_rng_state(), before)


def test_every_rate_the_schema_allows_works() -> None:
    assert torch.isfinite(Dropout(0.999_999)(torch.ones(100))).all()
