"""Figures by update, or by kind, to the geometry of a plot: axes with round ticks, curves as SVG paths, the same in words.

Comes in: points. Goes out: where everything lies in a drawing of WIDTH x HEIGHT units, y downwards. Knows nothing of what
the figures mean or of how the drawing looks.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 400, 230
LEFT, RIGHT, TOP, BOTTOM = 40, 386, 20, 196
"""The rectangle of the curves in the drawing; around it stand the words."""
INTERVALS = 6
"""Between ticks, at most."""

Point = tuple[int, float | None]
"""An update, or the place of a kind, and a figure; None where it was not finite, and the curve has a gap."""


@dataclass(frozen=True)
class Series:
    """Figures that belong together."""

    label: str
    points: Sequence[Point]
    marked: bool = False  # each point gets a dot, as where they are few


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A point that is drawn as such, and what it says when pointed at."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Curve:
    """A series as it is drawn."""

    number: int  # from 1, among all series that were given: what decides its colour
    label: str
    path: str  # the d of an SVG path; empty if no two neighbouring points have a figure
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Plot:
    """A whole drawing."""

    name: str  # a word, unlike those of other plots on a page
    title: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]
    summary: str  # for those who cannot see it


def plot(name: str, title: str, unit: str, series: Sequence[Series], last: int, *, from_zero: bool = False) -> Plot | None:
    """The plot of `series` over updates 0 to `last`, its axis from 0 up if `from_zero`. None if there is not one figure."""

    def x_of(update: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * update / max(last, 1), 1)

    x_step = max(1.0, _round_step(max(last, 1) / INTERVALS))
    x_ticks, x_power = _ticks(range(math.floor(last / x_step + 1e-9) + 1), x_step, x_of)
    axis = _Axis(f"update{x_power}", x_ticks, x_of, lambda update: f"update {update:,}")
    return _plot(name, title, unit, series, axis, from_zero, _in_words)


def plot_kinds(
    name: str, title: str, unit: str, series: Sequence[Series], kinds: Sequence[str], what: str, *, from_zero: bool = False
) -> Plot | None:
    """The plot of `series` over the places of `kinds`, of which `what` tells what they are. None as for `plot`."""

    def x_of(place: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (place + 0.5) / len(kinds), 1)

    axis = _Axis(what, tuple(Tick(x_of(place), kind) for place, kind in enumerate(kinds)), x_of, lambda place: kinds[place])

    def in_words(one: Series) -> str:
        told = ", ".join(f"{figure(value)} at {kinds[place]}" for place, value in one.points if value is not None)
        return f"{one.label}: {told}"

    return _plot(name, title, unit, series, axis, from_zero, in_words)


@dataclass(frozen=True)
class _Axis:
    """The level axis: its label, its ticks, where a place on it lies and what it is called."""

    label: str
    ticks: tuple[Tick, ...]
    place_of: Callable[[float], float]
    called: Callable[[int], str]


def _plot(
    name: str,
    title: str,
    unit: str,
    series: Sequence[Series],
    axis: _Axis,
    from_zero: bool,
    in_words: Callable[[Series], str],
) -> Plot | None:
    drawn = [(number, one) for number, one in enumerate(series, 1) if any(value is not None for _, value in one.points)]
    figures = [value for _, one in drawn for _, value in one.points if value is not None]
    if not figures:
        return None
    low, high = _span(0.0 if from_zero else min(figures), max(figures))
    step = _round_step((high - low) / INTERVALS)
    low_step, high_step = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    low, high = low_step * step, high_step * step

    def y_of(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low), 1)

    y_ticks, y_power = _ticks(range(low_step, high_step + 1), step, y_of)
    return Plot(
        name,
        title,
        x_label=axis.label,
        y_label=f"{unit}{y_power}",
        x_ticks=axis.ticks,
        y_ticks=y_ticks,
        curves=tuple(_curve(number, one, axis, y_of) for number, one in drawn),
        summary="; ".join(in_words(one) for _, one in drawn),
    )


def figure(value: float) -> str:
    """A figure as one reads it: four digits, or all of a large number's."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _span(low: float, high: float) -> tuple[float, float]:
    """`low` and `high`, apart from each other."""
    if high > low:
        return low, high
    around = abs(high) / 10
    return (low - around, high + around) if around else (0.0, 1.0)


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _ticks(numbers: range, step: float, place_of: Callable[[float], float]) -> tuple[tuple[Tick, ...], str]:
    """The ticks at these multiples of `step`, and the power of ten that their texts leave to the label of the axis."""
    largest = max(abs(number) for number in numbers) * step
    scale, suffix, power = 1.0, "", ""
    if largest >= 1e9 or 0 < largest < 0.01:
        exponent = math.floor(math.log10(largest) + 1e-9)
        superscript = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        scale, power = 10.0**exponent, f" × 10{superscript}"
    elif largest >= 1e4:
        scale, suffix = (1e6, "M") if largest >= 1e6 else (1e3, "k")
    decimals = max(0, -math.floor(math.log10(step / scale) + 1e-9))
    texts = (f"{number * step / scale:,.{decimals}f}{suffix}" if number else "0" for number in numbers)
    return tuple(Tick(place_of(number * step), text) for number, text in zip(numbers, texts, strict=True)), power


def _curve(number: int, series: Series, axis: _Axis, y_of: Callable[[float], float]) -> Curve:
    strokes, dots = [], []
    x_of = axis.place_of
    for stretch in _stretches(series.points):
        if series.marked or len(stretch) == 1:
            dots += [Dot(x_of(x), y_of(y), f"{series.label}, {axis.called(x)}: {figure(y)}") for x, y in stretch]
        if len(stretch) > 1:
            strokes.append(_stroke([(x_of(x), y_of(y)) for x, y in stretch]))
    return Curve(number, series.label, "".join(strokes), tuple(dots))


def _in_words(series: Series) -> str:
    """Begin, end and bounds of a series."""
    known = [(value, update) for update, value in series.points if value is not None]
    (first, begin), (last, end) = known[0], known[-1]
    words = f"{series.label}: {figure(first)} at update {begin:,}"
    if len(known) == 1:
        return words
    return f"{words}, {figure(last)} at update {end:,}, between {figure(min(known)[0])} and {figure(max(known)[0])}"


def _stretches(points: Sequence[Point]) -> Iterator[list[tuple[int, float]]]:
    """The points between gaps."""
    stretch: list[tuple[int, float]] = []
    for update, value in points:
        if value is not None:
            stretch.append((update, value))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _stroke(places: Sequence[tuple[float, float]]) -> str:
    """An SVG path through `places`. Of those on one upright line, more than can be seen apart, only the ends are kept."""
    kept: list[tuple[float, float]] = []
    column: list[tuple[float, float]] = []
    for place in [*places, (math.inf, 0.0)]:
        if column and place[0] != column[0][0]:
            ends = (column[0], min(column, key=lambda at: at[1]), max(column, key=lambda at: at[1]), column[-1])
            kept += dict.fromkeys(sorted(ends, key=column.index))
            column = []
        column.append(place)
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in kept)
