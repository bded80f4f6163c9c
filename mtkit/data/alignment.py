"""Runs of lines that do not translate each other: a file shifted by a line, a stretch of another document.

Comes in: the lengths of both sides of every pair, in order. Goes out: the runs. A translation is about as long as its
source, an unrelated sentence is not. How closely, the text says itself: the pairs as they stand against each source with
another line's target. The evidence of neighbouring pairs adds up until it cannot be chance (Page's test, Page 1954), so that
single odd pairs and short sentences do not matter. Knows nothing of words: where all lines are equally long it sees nothing.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mtkit.data.stages import Kept

WINDOW = 10_000
"""Lines whose lengths are judged by the same measure."""

STRONGEST = 2.0
"""Most that one pair may say for or against, in nats: no single pair decides."""

ENOUGH = 12.0
"""Evidence that a run must gather, in nats: by chance that much comes together once in
some hundred thousand lines, and 19 of 21 shifts of 20 lines in real text do."""

TELLING = 1.6
"""How much more the lengths of unrelated lines must differ than those of pairs, or nothing can be seen."""

Lengths = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Lines of a part, from 1, both included, that are probably misaligned."""

    first: int
    last: int


@dataclass
class AlignmentWatch:
    """Looks for runs of at least `shortest` lines in one part of a corpus, as its lines go by."""

    shortest: int
    _source: list[Kept] = field(default_factory=list)
    _target: list[Kept] = field(default_factory=list)
    _waiting: int = 0
    _judged: int = 0
    _evidence: float = 0.0  # of the run that reaches to the last judged line
    _begin: int = 0  # lines before that run
    _peak: float = 0.0  # the most evidence of that run
    _peak_line: int = 0  # and where
    _runs: list[Run] = field(default_factory=list)

    def add(self, source_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32]) -> None:
        """The next lines' lengths in characters."""
        self._source.append(source_lengths)
        self._target.append(target_lengths)
        self._waiting += len(source_lengths)
        while self._waiting >= 2 * WINDOW:  # so that the last one is not a short one
            self._judge(WINDOW)

    def runs(self) -> tuple[Run, ...]:
        """All runs, once the part is at its end."""
        if self._waiting:
            self._judge(self._waiting)
        self._close()
        return tuple(self._runs)

    def _judge(self, count: int) -> None:
        source, target = np.concatenate(self._source), np.concatenate(self._target)
        self._source, self._target = [source[count:]], [target[count:]]
        self._waiting -= count
        for evidence in _evidence(source[:count].astype(np.float64), target[:count].astype(np.float64)).tolist():
            self._evidence += evidence
            self._judged += 1
            if self._evidence <= 0.0 or self._peak - self._evidence > ENOUGH:
                self._close()
            elif self._evidence > self._peak:
                self._peak, self._peak_line = self._evidence, self._judged

    def _close(self) -> None:
        """The run that was going on has ended: it is noted if it is one."""
        if self._peak >= ENOUGH and self._peak_line - self._begin >= self.shortest:
            self._runs.append(Run(self._begin + 1, self._peak_line))
        self._evidence = self._peak = 0.0
        self._begin = self._judged


def _evidence(source: Lengths, target: Lengths) -> Lengths:
    """For each pair how much more likely its lengths are for unrelated lines than for a translation, in nats."""
    ratios = np.log((target + 3.0) / (source + 3.0))
    usual = float(np.median(ratios))
    of_pairs = _spread(ratios - usual)
    others = np.log((np.roll(target, len(target) // 2) + 3.0) / (source + 3.0))
    of_others = _spread(others - usual)
    if len(ratios) < 2 or of_others < TELLING * of_pairs:
        return np.zeros_like(ratios)
    off = (ratios - usual) ** 2
    against = 0.5 * off * (1.0 / of_pairs**2 - 1.0 / of_others**2) - np.log(of_others / of_pairs)
    evidence: Lengths = np.clip(against, -STRONGEST, STRONGEST)
    return evidence


def _spread(values: Lengths) -> float:
    """A standard deviation that a few wild values do not move."""
    return max(1.4826 * float(np.median(np.abs(values))), 0.05)
