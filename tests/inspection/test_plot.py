"""Figures to geometry: round ticks around all figures, each point where its figure belongs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtkit.inspection.plot import BOTTOM, LEFT, RIGHT, TOP, Plot, Point, Series, plot


def drawn(*points: Point, marked: bool = False, from_zero: bool = False, last: int | None = None) -> Plot:
    end = points[-1][0] if last is None else last
    made = plot("name", "Title", "unit", [Series("one", points, marked)], end, from_zero=from_zero)
    assert made is not None
    return made


def texts(made: Plot) -> list[str]:
    return [tick.text for tick in made.y_ticks]


@pytest.mark.parametrize(
    ("low", "high", "expected", "label"),
    [
        (27.01, 38.05, ["26", "28", "30", "32", "34", "36", "38", "40"], "unit"),
        (1.55, 8.12, ["0", "2", "4", "6", "8", "10"], "unit"),
        (0.0, 0.002, ["0", "0.5", "1.0", "1.5", "2.0"], "unit × 10⁻³"),
        (0.0, 7e-4, ["0", "2", "4", "6", "8"], "unit × 10⁻⁴"),
        (3100.0, 3900.0, ["3,000", "3,200", "3,400", "3,600", "3,800", "4,000"], "unit"),
        (0.0, 120_000.0, ["0", "20k", "40k", "60k", "80k", "100k", "120k"], "unit"),
        (0.0, 2.5e6, ["0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"], "unit"),
        (0.0, 3e12, ["0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"], "unit × 10¹²"),
        (-3.0, 4.0, ["-4", "-2", "0", "2", "4"], "unit"),
        (5.0, 5.0, ["4.4", "4.6", "4.8", "5.0", "5.2", "5.4", "5.6"], "unit"),
        (0.0, 0.0, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"], "unit"),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[str], label: str) -> None:
    made = drawn((1, low), (10, high))
    assert (texts(made), made.y_label) == (expected, label)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (0, ["0"]),
        (1, ["0", "1"]),
        (4, ["0", "1", "2", "3", "4"]),
        (4300, ["0", "1,000", "2,000", "3,000", "4,000"]),
        (12_000, ["0", "2k", "4k", "6k", "8k", "10k", "12k"]),
        (1_200_000, ["0", "0.2M", "0.4M", "0.6M", "0.8M", "1.0M", "1.2M"]),
    ],
)
def test_updates_are_whole(last: int, expected: list[str]) -> None:
    made = drawn((0, 1.0), last=last)
    assert [tick.text for tick in made.x_ticks] == expected
    assert made.x_label == "update"


def test_an_axis_can_begin_at_zero() -> None:
    assert texts(drawn((1, 3100.0), (2, 3900.0), from_zero=True)) == ["0", "1,000", "2,000", "3,000", "4,000"]


@given(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=30))
def test_every_point_lies_where_its_figure_belongs(figures: list[float]) -> None:
    made = drawn(*enumerate(figures), marked=True)
    (curve,) = made.curves
    assert made.y_ticks[0].place == BOTTOM
    assert made.y_ticks[-1].place == TOP
    assert len(curve.dots) == len(figures)
    assert all(LEFT <= dot.x <= RIGHT and TOP <= dot.y <= BOTTOM for dot in curve.dots)
    assert curve.dots[-1].x == (RIGHT if len(figures) > 1 else LEFT)
    order = sorted(range(len(figures)), key=lambda i: figures[i])
    heights = [curve.dots[i].y for i in order]
    assert heights == sorted(heights, reverse=True)


def test_a_figure_on_a_tick_lies_on_it() -> None:
    made = drawn((0, 2.0), (5, 4.0), (10, 8.0), marked=True)
    (curve,) = made.curves
    places = {tick.text: tick.place for tick in made.y_ticks}
    assert [dot.y for dot in curve.dots] == [places["2"], places["4"], places["8"]]
    assert [dot.x for dot in curve.dots] == [LEFT, (LEFT + RIGHT) / 2, RIGHT]
    assert curve.path == f"M{LEFT} {places['2']:g}L{(LEFT + RIGHT) / 2:g} {places['4']:g}L{RIGHT} {places['8']:g}"
    assert curve.dots[1].text == "one, update 5: 4"


def test_a_gap_is_a_gap_and_a_lonely_point_a_dot() -> None:
    made = drawn((0, 1.0), (1, 2.0), (2, None), (3, 3.0), (4, None), (5, 2.0), (6, 1.0))
    (curve,) = made.curves
    assert curve.path.count("M") == 2
    assert curve.path.count("L") == 2
    assert [dot.text for dot in curve.dots] == ["one, update 3: 3"]
    assert made.summary == "one: 1 at update 0, 1 at update 6, between 1 and 3"


def test_a_series_without_figures_is_left_out_and_the_others_keep_their_number() -> None:
    series = [Series("a", [(1, 1.0)]), Series("b", []), Series("c", [(1, None)]), Series("d", [(1, 2.0)])]
    made = plot("name", "Title", "unit", series, 1)
    assert made is not None
    assert [(curve.number, curve.label) for curve in made.curves] == [(1, "a"), (4, "d")]
    assert made.summary == "a: 1 at update 1; d: 2 at update 1"
    assert plot("name", "Title", "unit", series[1:3], 1) is None


def test_more_points_than_can_be_seen_apart_are_thinned_and_the_extremes_stay() -> None:
    figures = [float(i % 7) for i in range(200_000)]
    figures[123_456] = 1000.0
    (curve,) = drawn(*enumerate(figures)).curves
    assert len(curve.path) < 250_000
    heights = [float(place.split()[1]) for place in re.split("[ML]", curve.path)[1:]]
    assert (min(heights), max(heights)) == (TOP, BOTTOM)
