"""One HTML page about translations: how good they are, where they are not, and the sentences that show it.

Comes in: systems with their translations, source and references, scores and comparisons, the words of the training text.
Goes out: a page that needs neither network nor script. What it looks like is in evaluation.html beside this file.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtkit.evaluation.analysis import (
    RATIOS,
    Example,
    Group,
    Lengths,
    Texts,
    by_frequency,
    by_length,
    length_ratios,
    telling_examples,
)
from mtkit.evaluation.comparison import Comparison
from mtkit.evaluation.faults import Fault, faults
from mtkit.evaluation.scores import Score, Scorer
from mtkit.evaluation.words import Run, held_against
from mtkit.inspection.page import render_page, write_page
from mtkit.inspection.plot import Plot, Series, plot_kinds

EXAMPLES = 25
"""Sentences shown side by side."""

FAULTS_SHOWN = 10
"""Of each kind and system."""

RATIO_TICKS = (*(f"–{bound:g}" for bound in RATIOS), f"{RATIOS[-1]:g}–")
NAMED_RATIOS = (
    f"< {RATIOS[0]:g}",
    *(f"{a:g}–{b:g}" for a, b in itertools.pairwise(RATIOS)),
    f"{RATIOS[-1]:g}+",
)


@dataclass(frozen=True)
class Side:
    """A translation in an example, held against the reference that it shares most with."""

    system: str
    score: float
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class SideBySide:
    """A sentence as the page shows it."""

    example: Example
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class Groups:
    """BLEU by some property of the sentences, drawn and as figures."""

    title: str
    what: str
    groups: tuple[Group, ...]
    plot: Plot | None


@dataclass(frozen=True)
class EvaluationPage:
    """All that the page tells."""

    systems: tuple[str, ...]
    source_language: str
    target_language: str
    scores: tuple[tuple[Score, ...], ...]  # of each system, all metrics
    comparisons: tuple[Comparison, ...]
    by_length: Groups
    by_frequency: Groups | None
    lengths: tuple[Lengths, ...]
    length_plot: Plot | None
    ratio_names: tuple[str, ...]
    faults: Mapping[str, tuple[tuple[Fault, ...], ...]]
    faults_shown: int
    examples: tuple[SideBySide, ...]
    has_source: bool


def write_evaluation_page(
    texts: Texts,
    scorer: Scorer,
    comparisons: Sequence[Comparison],
    target: Path,
    *,
    source_language: str,
    target_language: str,
    frequency: Mapping[str, int] | None,
    option: str,
) -> None:
    """Writes the page to `target`, the value of `option`. UserError if it cannot be written there.

    `frequency` tells how often the training text has the words of the source, in small letters; None where it is not known.
    """
    page = look_at(texts, scorer, comparisons, source_language, target_language, frequency)
    write_page(render_page("evaluation.html", page=page), target, option)


def look_at(
    texts: Texts,
    scorer: Scorer,
    comparisons: Sequence[Comparison],
    source_language: str,
    target_language: str,
    frequency: Mapping[str, int] | None,
) -> EvaluationPage:
    """All that there is to tell of these translations. `comparisons` are those of the systems, none if there is but one."""
    assert bool(comparisons) == (len(texts.systems) > 1), "several systems, several comparisons"
    systems = tuple(system.name for system in texts.systems)
    lengths = length_ratios(texts, scorer)
    shares = [
        Series(name, [(place, 100 * share) for place, share in enumerate(one.shares)], marked=True)
        for name, one in zip(systems, lengths, strict=True)
    ]
    rare = None
    if frequency is not None and texts.source is not None:
        groups = by_frequency(texts, scorer, frequency)
        rare = _groups("frequency", "BLEU by the rarest word", "times in the training text", groups, systems)
    side = "source" if texts.source is not None else "reference"
    return EvaluationPage(
        systems=systems,
        source_language=source_language,
        target_language=target_language,
        scores=tuple(scorer.score(system.lines, system.name, intervals=True) for system in texts.systems),
        comparisons=tuple(comparisons),
        by_length=_groups("length", "BLEU by sentence length", f"words of the {side}", by_length(texts, scorer), systems),
        by_frequency=rare,
        lengths=lengths,
        length_plot=plot_kinds(
            "ratio", "Length of the lines", "% of the lines", shares, RATIO_TICKS, "times the reference", from_zero=True
        ),
        ratio_names=NAMED_RATIOS,
        faults=faults(texts),
        faults_shown=FAULTS_SHOWN,
        examples=tuple(_side_by_side(example, systems) for example in telling_examples(texts, scorer, EXAMPLES)),
        has_source=texts.source is not None,
    )


def _groups(name: str, title: str, what: str, groups: Sequence[Group], systems: Sequence[str]) -> Groups:
    """Those that hold sentences, with their drawing."""
    kept = tuple(group for group in groups if group.sentences)
    series = [
        Series(system, [(place, group.scores[number]) for place, group in enumerate(kept)], marked=True)
        for number, system in enumerate(systems)
    ]
    return Groups(title, what, kept, plot_kinds(name, title, "BLEU", series, [group.label for group in kept], what))


def _side_by_side(example: Example, systems: Sequence[str]) -> SideBySide:
    sides = []
    for system, text, score in zip(systems, example.translations, example.scores, strict=True):
        held = [held_against(text, reference) for reference in example.references]
        closest = min(held, key=lambda runs: sum(len(run.text) for run in runs if run.alone))
        sides.append(Side(system, score, closest))
    return SideBySide(example, tuple(sides))
