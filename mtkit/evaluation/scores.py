"""Scores of translations: lines in, sacreBLEU's numbers with their signatures out.

Comes in: hypothesis lines and one list of reference lines per reference set, as raw text. Goes out: one `Score` per metric.
The lines are handed to sacreBLEU as they are, so a score here is the one its command line prints. Knows nothing of files,
models or downloads.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.base import Score as MetricScore
from sacrebleu.significance import estimate_ci

from mtkit.config.schema import Evaluation
from mtkit.evaluation.metrics import LOWER_IS_BETTER, METRICS, Counted, counted
from mtkit.evaluation.test_sets import NEWSTEST2014_BY_LINES
from mtkit.support.errors import UserError


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the scores of resampled test sets lie, as sacreBLEU has it: mean ± half_width (Koehn 2004)."""

    mean: float
    half_width: float
    resamples: int
    seed: int

    def __str__(self) -> str:
        """All of it, to two digits."""
        return self.format(2)

    def format(self, decimals: int) -> str:
        """All of it."""
        figures = f"{self.mean:.{decimals}f} ± {self.half_width:.{decimals}f}"
        return f"{figures} (95 %, bs:{self.resamples}|seed:{self.seed})"


@dataclass(frozen=True)
class Score:
    """One number and all that is needed to compare it with another."""

    metric: str
    """Name as in the config (bleu, chrf, …), or in a file of imported scores."""
    value: float
    """Unrounded. sacreBLEU's go from 0 to 100; higher is better, but for TER lower is (and it may exceed 100)."""
    summary: str
    """sacreBLEU's own words: name, value to two digits and, for BLEU, precisions, brevity penalty and lengths."""
    signature: str
    """sacreBLEU's own signature."""
    test_set: str
    """What was translated: label of a test set or name of a reference file; '' if it has no name."""
    sentences: int
    """Lines scored."""
    interval: Interval | None = None
    """None where it was not asked for."""
    decimals: int = 2
    """Digits worth printing."""

    def __str__(self) -> str:
        """All of it on one line."""
        interval = [self.interval.format(self.decimals)] if self.interval else []
        return " | ".join([self.summary, self.signature, self.set, *interval])

    @property
    def set(self) -> str:
        """The test set with its line count."""
        return f"{f'{self.test_set}, ' if self.test_set else ''}{self.sentences} line{'' if self.sentences == 1 else 's'}"

    def to_json(self) -> dict[str, object]:
        """The fields by name, for `json.dumps`."""
        fields = asdict(self)
        del fields["decimals"]
        return fields


@dataclass(frozen=True)
class SentenceScores:
    """One metric of each line. `signature` may differ from that of the corpus: BLEU's then says eff:yes."""

    metric: str
    signature: str
    values: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """The fields by name, for `json.dumps`."""
        return asdict(self)


class Scorer:
    """Scores one system after another against the same references, which it prepares once.

    `references` holds one list of lines per reference set, not one per sentence. The names serve messages and the report;
    `test_set` defaults to the names of the references. `target_language` chooses BLEU's tokeniser as `sacrebleu -l` does
    (13a, but zh, ja-mecab and ko-mecab for these three); the signature names it.
    """

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        config: Evaluation,
        *,
        reference_names: Sequence[str] = (),
        test_set: str = "",
        target_language: str = "",
    ) -> None:
        """Raises UserError if the tokeniser of the target language is not installed."""
        assert references, "no reference given"
        assert not any(isinstance(lines, str) for lines in references), "references: one list of lines per reference set"
        assert not reference_names or len(reference_names) == len(references), "as many names as references"
        self.config = config
        self.test_set = test_set or " ".join(reference_names)
        self.references, self._names, self._language = references, reference_names, target_language
        self._metrics: dict[str, Counted] = {}
        self.names: tuple[str, ...] = config.metrics
        """Of the metrics, in the order of the scores."""

    def add(self, name: str, metric: Counted) -> None:
        """One more metric. UserError if there is one of that name."""
        if name in self.names:
            raise UserError(f"there are two metrics called {name}: leave one out")
        self._metrics[name] = metric
        self.names = (*self.names, name)

    def metric(self, name: str) -> Counted:
        """The metric of that name, made when it is first asked for."""
        if name not in self._metrics:
            self._metrics[name] = counted(name, self.config, self.references, self._language)
        return self._metrics[name]

    def check(self, hypotheses: Sequence[str], name: str = "") -> None:
        """UserError if a reference has another number of lines than the hypotheses called `name`, or if there are none.

        sacreBLEU's metric classes silently score as many lines as the shortest side has, so this has to be refused here.
        """
        _check_counts(hypotheses, self.references, name, self._names)

    def score(self, hypotheses: Sequence[str], name: str = "", *, intervals: bool = False) -> tuple[Score, ...]:
        """The score by each metric. UserError as `check`."""
        self.check(hypotheses, name)
        return tuple(self._score(metric, hypotheses, intervals) for metric in self.names)

    def sentence_scores(self, hypotheses: Sequence[str]) -> tuple[SentenceScores, ...]:
        """The score of each line by each metric."""
        found = []
        for name in self.names:
            metric = self.metric(name).of_sentences()
            values = tuple(capped(name, value) for value in metric.sentence_scores(hypotheses))
            found.append(SentenceScores(name, metric.get_signature().format(), values))
        return tuple(found)

    def _score(self, name: str, hypotheses: Sequence[str], intervals: bool) -> Score:
        metric = self.metric(name)
        result: MetricScore = metric.corpus_score(hypotheses, None)
        return Score(
            metric=name,
            value=capped(name, result.score),
            summary=result.format(width=metric.decimals),
            signature=metric.get_signature().format(),
            test_set=self.test_set,
            sentences=len(hypotheses),
            interval=self._interval(name, hypotheses) if intervals and self.config.resamples else None,
            decimals=metric.decimals,
        )

    def _interval(self, name: str, hypotheses: Sequence[str]) -> Interval:
        resamples, seed = self.config.resamples, self.config.seed
        mean, half_width = estimate_ci(self.metric(name).resampled(hypotheses, resamples, seed))
        return Interval(capped(name, mean), float(half_width), resamples, seed)


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    config: Evaluation,
    *,
    hypotheses_name: str = "",
    reference_names: Sequence[str] = (),
    test_set: str = "",
    target_language: str = "",
) -> tuple[Score, ...]:
    """Scores `hypotheses` with each of `config.metrics`, in that order: what a `Scorer` says of one system.

    Raises UserError if a reference has another number of lines than the hypotheses, if there are none, or if the
    tokeniser of the target language is not installed.
    """
    scorer = Scorer(references, config, reference_names=reference_names, test_set=test_set, target_language=target_language)
    return scorer.score(hypotheses, hypotheses_name)


def capped(metric: str, value: float) -> float:
    """A score as a plain number. Rounding lifts sacreBLEU's perfect one to 100.00000000000004; TER alone may exceed 100."""
    return min(float(value), 100.0) if metric in METRICS and metric not in LOWER_IS_BETTER else float(value)


def _check_counts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    hypotheses_name: str,
    reference_names: Sequence[str],
) -> None:
    names = [f" {name}" for name in reference_names]
    if not names:
        names = [""] if len(references) == 1 else [f" #{number}" for number in range(1, len(references) + 1)]
    given = len(hypotheses)
    wrong = [(name, len(lines)) for name, lines in zip(names, references, strict=True) if len(lines) != given]
    where = f"{hypotheses_name}: " if hypotheses_name else ""
    if not wrong:
        if not given:
            raise UserError(f"{where}hypotheses 0 lines, reference{names[0]} 0 lines: there is nothing to score")
        return
    counts = ", ".join([f"hypotheses {given} lines", *(f"reference{name} {lines} lines" for name, lines in wrong)])
    advice = "line n of the hypotheses must translate line n of the source"
    expected = wrong[0][1]
    if given in NEWSTEST2014_BY_LINES and expected in NEWSTEST2014_BY_LINES:
        advice = (
            f"of newstest2014 there are two sets: {expected} lines is {NEWSTEST2014_BY_LINES[expected]}, "
            f"these hypotheses have as many as {NEWSTEST2014_BY_LINES[given]}: score them against that one"
        )
    raise UserError(f"{where}{counts}: {advice}")
