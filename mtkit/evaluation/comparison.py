"""Several systems on the same lines: which is better, and whether that is more than chance.

Comes in: the translations of two or more systems and a `Scorer`. Goes out: a `Comparison` per metric, with the p-values of
sacreBLEU's paired bootstrap (Koehn 2004) and paired approximate randomisation (Riezler and Maxwell 2005). The first system
is the baseline. Knows nothing of files or models.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.significance import PairedTest, estimate_ci
from sacrebleu.significance import Result as TestResult

from mtkit.config.schema import Evaluation
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
    """Whether all p-values that there are lie below the level; False without any."""

    @property
    def verdict(self) -> str:
        """In words; '' where nothing was tested."""
        tested = self.bootstrap_p is not None or self.randomisation_p is not None
        return ("significant" if self.significant else "not significant") if tested else ""


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
        return f"{'; '.join(made)}; seed {self.seed}" if made else "no test of significance was asked for: all share rank 1"

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
        tests = _Tests([system.lines for system in systems], column, scorer.metric(name), config)
        standings = tuple(
            Standing(system.name, tests.rank(number), column[number], tests.difference(number) if number else None)
            for number, system in enumerate(systems)
        )
        figures = (config.resamples, config.trials, config.seed, config.significance_level)
        found.append(Comparison(name, standings, *figures))
    return tuple(found)


class _Tests:
    """The tests of all systems in one metric, each made when it is first asked for. Systems go by their places.

    Systems that differ on k lines have no p-value below 2^(1 - k), and equal ones have 1: of the 2^k ways to exchange those
    lines, all and none give the difference that is seen. sacreBLEU counts larger differences only, so that it says
    1/(n + 1) of a single line and even of equal systems; from 15 lines on, with n = 10,000, the bound changes nothing.
    """

    def __init__(
        self, systems: Sequence[Sequence[str]], scores: Sequence[Score], metric: Counted, config: Evaluation
    ) -> None:
        self._systems, self._scores, self._metric, self._config = systems, scores, metric, config
        self._randomised: dict[tuple[int, int], float] = {}

    def difference(self, place: int) -> Difference:
        """Between the baseline and another system."""
        resamples, seed = self._config.resamples, self._config.seed
        interval = None
        if resamples:
            mean, half_width = estimate_ci(self._resampled(place) - self._resampled(0))
            interval = Interval(float(mean), float(half_width), resamples, seed)
        values = (self._bootstrap_p(0, place), self._randomisation_p(0, place))
        return Difference(self._ahead(place, 0), interval, *values, self._significant(0, place))

    def rank(self, place: int) -> int:
        """1 + systems that are significantly better."""
        sign = -1 if self._metric.lower_is_better else 1
        ahead = [other for other in range(len(self._systems)) if sign * self._ahead(other, place) > 0]
        return 1 + sum(self._significant(min(place, other), max(place, other)) for other in ahead)

    def _significant(self, one: int, other: int) -> bool:
        """By every test that is made. The second is spared where the first says no."""
        made = False
        for test in (self._bootstrap_p, self._randomisation_p):
            value = test(one, other)
            if value is not None and value >= self._config.significance_level:
                return False
            made |= value is not None
        return made

    def _bootstrap_p(self, one: int, other: int) -> float | None:
        """As `sacrebleu.significance` computes it, two-sided: how often a resampled difference, centred, is larger."""
        if not self._config.resamples:
            return None
        differences = np.abs(self._resampled(other) - self._resampled(one))
        larger = np.sum(differences - differences.mean() > abs(self._ahead(other, one)))
        return max(float((larger + 1) / (len(differences) + 1)), self._least_p(one, other))

    def _randomisation_p(self, one: int, other: int) -> float | None:
        """That of sacreBLEU's own approximate randomisation."""
        if not self._config.trials:
            return None
        if (one, other) not in self._randomised:
            named = [(str(place), self._systems[place]) for place in (one, other)]
            with _sacrebleu_seed(self._config.seed):
                _, columns = PairedTest(named, {"metric": self._metric}, None, "ar", n_samples=self._config.trials)()
            ((_, result),) = (column for name, column in columns.items() if name != "System")
            assert isinstance(result, TestResult)
            assert result.p_value is not None
            self._randomised[one, other] = max(float(result.p_value), self._least_p(one, other))
        return self._randomised[one, other]

    def _least_p(self, one: int, other: int) -> float:
        counts, others = (self._metric.counts(self._systems[place]) for place in (one, other))
        differing = int(np.any(counts != others, axis=1).sum())
        return min(1.0, 2.0 ** (1 - differing))

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
