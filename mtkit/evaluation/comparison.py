"""Several systems on the same lines: which is better, and whether that is more than chance.

Comes in: the translations of two or more systems and a `Scorer`. Goes out: a `Comparison` per metric, with the p-values of
sacreBLEU's paired bootstrap (Koehn 2004) and paired approximate randomisation (Riezler and Maxwell 2005). The first system
is the baseline. Knows nothing of files or models.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.significance import PairedTest, estimate_ci
from sacrebleu.significance import Result as TestResult

from mtkit.evaluation.metrics import Counted
from mtkit.evaluation.scores import Interval, Score, Scorer


@dataclass(frozen=True)
class System:
    """A system by its name, and its translation of each line."""

    name: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Difference:
    """What a system has over the baseline in one metric. Of p-values, None is for tests that were not made."""

    delta: float
    """Its score less the baseline's."""
    interval: Interval | None
    """Of the delta, over resampled test sets."""
    bootstrap_p: float | None
    randomisation_p: float | None
    significant: bool
    """Whether all p-values that there are lie below the level."""


@dataclass(frozen=True)
class Standing:
    """How one system stands in one metric."""

    system: str
    rank: int
    """1 + systems that are significantly better: those that cannot be told apart from the best share rank 1."""
    score: Score
    difference: Difference | None
    """None for the baseline."""


@dataclass(frozen=True)
class Comparison:
    """All systems in one metric, in the order given; the first is the baseline."""

    metric: str
    standings: tuple[Standing, ...]
    resamples: int
    trials: int
    seed: int
    significance_level: float

    @property
    def tests(self) -> str:
        """How the p-values came about, in words."""
        made = [f"paired bootstrap, {self.resamples:,} resamples"] if self.resamples else []
        made += [f"approximate randomisation, {self.trials:,} trials"] if self.trials else []
        return f"{'; '.join(made)}; seed {self.seed}" if made else "no test of significance was asked for"

    def to_json(self) -> dict[str, object]:
        """For `json.dumps`; what else there is to the scores is told with the systems."""
        standings = [asdict(one) | {"score": one.score.value} for one in self.standings]
        first = self.standings[0]
        told = {"baseline": first.system, "signature": first.score.signature, "test_set": first.score.test_set}
        return asdict(self) | told | {"standings": standings}


def compare(systems: Sequence[System], scorer: Scorer) -> tuple[Comparison, ...]:
    """Compares two or more systems by each metric of `scorer`. UserError if a system has another number of lines."""
    assert len(systems) > 1, "one system compares with nothing"
    config = scorer.config
    scores = [scorer.score(system.lines, system.name, intervals=True) for system in systems]
    found = []
    for place, name in enumerate(scorer.names):
        column = [of_system[place] for of_system in scores]
        tests = _Tests([system.lines for system in systems], column, scorer.metric(name), scorer)
        standings = tuple(
            Standing(system.name, tests.rank(number), column[number], tests.difference(number) if number else None)
            for number, system in enumerate(systems)
        )
        figures = (config.resamples, config.trials, config.seed, config.significance_level)
        found.append(Comparison(name, standings, *figures))
    return tuple(found)


class _Tests:
    """The tests of all systems in one metric. Systems go by their places.

    For systems with equal counts p is 1. sacreBLEU says 1/(n + 1), as it takes no zero difference for chance; but equal
    systems are no better than each other.
    """

    def __init__(self, systems: Sequence[Sequence[str]], scores: Sequence[Score], metric: Counted, scorer: Scorer) -> None:
        self._systems, self._scores, self._metric, self._config = systems, scores, metric, scorer.config
        self._randomised = self._against(0) if self._config.trials else {}
        self._pairs = dict(self._every_pair())

    def difference(self, place: int) -> Difference:
        """Between the baseline and another system."""
        resamples, seed = self._config.resamples, self._config.seed
        interval = None
        if resamples:
            mean, half_width = estimate_ci(self._resampled(place) - self._resampled(0))
            interval = Interval(float(mean), float(half_width), resamples, seed)
        bootstrap_p = self._pairs[0, place] if resamples else None
        randomisation_p = self._randomised.get(place)
        made = [p for p in (bootstrap_p, randomisation_p) if p is not None]
        significant = bool(made) and max(made) < self._config.significance_level
        return Difference(self._ahead(place, 0), interval, bootstrap_p, randomisation_p, significant)

    def rank(self, place: int) -> int:
        """By the bootstrap of every pair or, where there is none, by the randomisation of every pair."""
        sign = -1 if self._metric.lower_is_better else 1
        pairs = ((min(other, place), max(other, place), other) for other in range(len(self._systems)) if other != place)
        return 1 + sum(
            self._pairs.get((one, two), 1.0) < self._config.significance_level and sign * self._ahead(other, place) > 0
            for one, two, other in pairs
        )

    def _every_pair(self) -> Iterator[tuple[tuple[int, int], float]]:
        if self._config.resamples:
            for pair in itertools.combinations(range(len(self._systems)), 2):
                yield pair, self._bootstrap_p(*pair)
        elif self._config.trials:
            for one in range(len(self._systems) - 1):
                for other, value in (self._against(one) if one else self._randomised).items():
                    yield (one, other), value

    def _bootstrap_p(self, one: int, other: int) -> float:
        """As `sacrebleu.significance` computes it, two-sided: how often a resampled difference, centred, is larger."""
        if self._equal(one, other):
            return 1.0
        differences = np.abs(self._resampled(other) - self._resampled(one))
        larger = np.sum(differences - differences.mean() > abs(self._ahead(other, one)))
        return float((larger + 1) / (len(differences) + 1))

    def _against(self, baseline: int) -> dict[int, float]:
        """p of sacreBLEU's approximate randomisation, by place, of the systems after `baseline`."""
        places = range(baseline, len(self._systems))
        named = [(str(place), self._systems[place]) for place in places]
        with _sacrebleu_seed(self._config.seed):
            _, columns = PairedTest(named, {"metric": self._metric}, None, "ar", n_samples=self._config.trials)()
        (results,) = (column for name, column in columns.items() if name != "System")
        found = {}
        for place, result in zip(places[1:], results[1:], strict=True):
            assert isinstance(result, TestResult)
            assert result.p_value is not None
            found[place] = 1.0 if self._equal(baseline, place) else float(result.p_value)
        return found

    def _equal(self, one: int, other: int) -> bool:
        return np.array_equal(self._metric.counts(self._systems[one]), self._metric.counts(self._systems[other]))

    def _resampled(self, place: int) -> NDArray[np.floating[Any]]:
        return self._metric.resampled(self._systems[place], self._config.resamples, self._config.seed)

    def _ahead(self, one: int, other: int) -> float:
        return self._scores[one].value - self._scores[other].value


@contextlib.contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """The seed of sacreBLEU's tests, which it takes from the environment, for the block."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
