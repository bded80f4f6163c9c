"""Minimum Bayes risk: of several translations, the one that is on average most like all of them.

Comes in: texts, equal ones as often as they were drawn. Goes out: how like the others each is, in chrF (Popović 2015, as
sacreBLEU computes it), and so which one a reader would mind least whichever of them is right.
"""

from collections import Counter
from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF


def expected_likeness(texts: Sequence[str]) -> list[float]:
    """For each text the mean chrF, 0 to 100, that it has with all texts as references, itself included."""
    counts = Counter(texts)
    metric = CHRF()

    def likeness(text: str, other: str) -> float:
        return 100.0 if text == other else float(metric.sentence_score(text, [other]).score)

    means = {text: sum(count * likeness(text, other) for other, count in counts.items()) / len(texts) for text in counts}
    return [means[text] for text in texts]
