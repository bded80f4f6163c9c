"""The metrics by name, each sacreBLEU's own, with the counts of a system's sentences taken once.

Comes in: a name of the config's, references. Goes out: a sacreBLEU metric that scores, resamples and compares systems.
Knows nothing of files or models.
"""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.metrics.base import Score as MetricScore
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtkit.config.schema import Evaluation
from mtkit.evaluation.moses import TokenisedBLEU
from mtkit.support.errors import UserError

METRICS: Mapping[str, Callable[[Evaluation, str], Metric]] = {
    # `force` only silences sacreBLEU's own remark on tokenised input, which `unfinished` makes for every metric.
    "bleu": lambda config, language: BLEU(lowercase=config.lowercase, trg_lang=language, force=True),
    "chrf": lambda config, language: CHRF(lowercase=config.lowercase),
    "chrf++": lambda config, language: CHRF(lowercase=config.lowercase, word_order=2),
    # TER disregards case whatever `lowercase` says, as TERCOM and sacreBLEU's command line do; its signature says case:lc.
    "ter": lambda config, language: TER(),
    "tokenised-bleu": lambda config, language: TokenisedBLEU(lowercase=config.lowercase, language=language, compounds=False),
    "compound-split-bleu": lambda config, language: TokenisedBLEU(
        lowercase=config.lowercase, language=language, compounds=True
    ),
}
"""Name in the config -> sacreBLEU's metric, from the options and the target language (BLEU's tokeniser follows it)."""

LOWER_IS_BETTER = frozenset({"ter"})


class Counted(Metric):
    """A metric and the references, whose counts of each system's sentences are taken once and kept.

    It scores as the metric does; `sacrebleu.significance` may test with it as often as it likes. A system is known by the
    identity of its list of lines, which must not change.
    """

    def __init__(
        self, metric: Metric, references: Sequence[Sequence[str]], *, lower_is_better: bool = False, decimals: int = 2
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._metric = metric
        self.lower_is_better, self.decimals = lower_is_better, decimals
        metric._ref_cache = metric._cache_references(references)
        self._systems: dict[int, tuple[Sequence[str], NDArray[np.float64]]] = {}
        self._resampled: dict[tuple[int, int, int], NDArray[np.floating[Any]]] = {}

    def counts(self, hypotheses: Sequence[str]) -> NDArray[np.float64]:
        """What the score is made of, a row a sentence; scores follow from sums of rows. Exact in double precision."""
        if id(hypotheses) not in self._systems:  # kept with its counts, so that no other gets its identity
            counts = np.array(self._metric._extract_corpus_statistics(hypotheses, None), dtype=np.float64)
            self._systems[id(hypotheses)] = (hypotheses, counts)
        return self._systems[id(hypotheses)][1]

    def resampled(self, hypotheses: Sequence[str], resamples: int, seed: int) -> NDArray[np.floating[Any]]:
        """The scores of so many test sets drawn from this one with replacement, the same ones for every system.

        Draws and arithmetic are those of `sacrebleu.significance`, so what follows from the scores agrees with it.
        """
        key = (id(hypotheses), resamples, seed)
        if key not in self._resampled:
            counts = self.counts(hypotheses).astype(np.float32)
            draws = np.random.default_rng(seed).choice(len(counts), size=(resamples, len(counts)), replace=True)
            scores = [self._compute_score_from_stats(counts[draw].sum(0)).score for draw in draws]
            self._resampled[key] = np.array(scores)
        return self._resampled[key]

    def of_sentences(self) -> "Counted":
        """The same for single sentences: BLEU then leaves out n-grams that a sentence is too short for (eff:yes)."""
        single = copy.copy(self)
        single._metric = copy.copy(self._metric)
        if isinstance(single._metric, BLEU):
            single._metric.effective_order = True
        return single

    def sentence_scores(self, hypotheses: Sequence[str]) -> tuple[float, ...]:
        """The score of each sentence."""
        return tuple(float(self._metric._compute_score_from_stats(row).score) for row in self._whole(hypotheses))

    def part_score(self, hypotheses: Sequence[str], sentences: Sequence[int]) -> MetricScore:
        """The score of some sentences, by their places, as of a corpus of their own."""
        return self._compute_score_from_stats(self._whole(hypotheses, sentences).sum(0))

    def get_signature(self) -> Signature:
        """The metric's own."""
        return self._metric.get_signature()

    def _whole(self, hypotheses: Sequence[str], sentences: Sequence[int] | None = None) -> Any:
        counts = self.counts(hypotheses)
        return counts if sentences is None else counts[list(sentences)]

    # What sacreBLEU calls, when it scores and when it resamples.

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: object) -> NDArray[np.float64]:
        assert references is None, "the references are known"
        return self.counts(hypotheses)

    def _aggregate_and_compute(self, stats: Any) -> MetricScore:
        found: MetricScore = self._metric._aggregate_and_compute(stats)
        return found

    def _compute_score_from_stats(self, stats: Any) -> MetricScore:
        found: MetricScore = self._metric._compute_score_from_stats(stats)
        return found

    def _preprocess_segment(self, sent: str) -> str:
        return self._metric._preprocess_segment(sent)

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return self._metric._extract_reference_info(refs)

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[Any]:
        return self._metric._compute_segment_statistics(hypothesis, ref_kwargs)


def counted(name: str, config: Evaluation, references: Sequence[Sequence[str]], target_language: str) -> Counted:
    """The metric `name` against `references`, one list of lines per reference set.

    `target_language` chooses BLEU's tokeniser as `sacrebleu -l` does, whatever its region: zh_CN is tokenised as zh.
    UserError if that tokeniser is not installed.
    """
    language = re.split("[_-]", target_language)[0].lower()
    try:
        return Counted(METRICS[name](config, language), references, lower_is_better=name in LOWER_IS_BETTER)
    except (ImportError, RuntimeError) as error:  # MeCab and its dictionaries are extras of sacreBLEU
        raise UserError(
            f"evaluation.metrics: {name} for target language {target_language} needs a tokeniser that is not installed: "
            f"{' '.join(str(error).split())}"
        ) from None
