"""The learning rate of an update: the paper's to the digit, and the shape of the others."""

import math

import pytest

from mtkit.config.schema import Schedule, Training
from mtkit.training.schedule import SHAPES, learning_rate


def rate(update: int, d_model: int = 512, updates: int = 100_000, **schedule: object) -> float:
    return learning_rate(update, Training(updates=updates, schedule=Schedule.model_validate(schedule)), d_model)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (1, 512**-0.5 * 4000**-1.5),
        (2000, 512**-0.5 * 2000 * 4000**-1.5),
        (4000, 512**-0.5 * 4000**-0.5),
        (16_000, 512**-0.5 * 16_000**-0.5),
        (100_000, 512**-0.5 * 100_000**-0.5),
    ],
)
def test_the_papers_schedule_is_equation_3(update: int, expected: float) -> None:
    assert rate(update) == expected


def test_the_papers_numbers() -> None:
    assert rate(1) == pytest.approx(1.7469e-7, rel=1e-4)
    assert rate(4000) == pytest.approx(6.9877e-4, rel=1e-4)  # the base model's peak
    assert rate(16_000) == pytest.approx(rate(4000) / 2)
    assert rate(4000, d_model=1024) == pytest.approx(4.9411e-4, rel=1e-4)  # the big model's
    assert rate(4000, factor=2.0) == 2 * rate(4000)
    assert max(range(3990, 4011), key=rate) == 4000
    assert rate(1, updates=50) == rate(1)


def test_all_others_rise_in_a_line_to_the_peak() -> None:
    assert {"paper", *SHAPES} == set(Schedule.model_fields["kind"].annotation.__args__)  # type: ignore[union-attr]
    for kind in SHAPES:
        values = [rate(n, updates=100, kind=kind, peak=2e-3, warmup=10) for n in range(1, 11)]
        assert values == pytest.approx([2e-4 * n for n in range(1, 11)])


@pytest.mark.parametrize(
    ("kind", "middle", "end"),
    [
        ("inverse_square_root", math.sqrt(10 / 55), math.sqrt(10 / 100)),
        ("cosine", 0.5, 0.0),
        ("linear", 0.5, 0.0),
        ("constant", 1.0, 1.0),
    ],
)
def test_their_shapes(kind: str, middle: float, end: float) -> None:
    at = {n: rate(n, updates=100, kind=kind, peak=2e-3, warmup=10) for n in (55, 100, 101)}
    assert at[55] == pytest.approx(2e-3 * middle)
    assert at[100] == pytest.approx(2e-3 * end, abs=1e-12)
    assert at[101] >= 0.0
    values = [rate(n, updates=100, kind=kind, peak=2e-3, warmup=10) for n in range(10, 101)]
    assert values == sorted(values, reverse=True)


def test_a_warm_up_longer_than_the_run() -> None:
    assert [rate(n, updates=3, kind="linear", peak=1.0, warmup=4) for n in (1, 2, 3)] == [0.25, 0.5, 0.75]
