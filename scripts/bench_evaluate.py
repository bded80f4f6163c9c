"""Comparing systems: seconds for five of them on a test set, all pairs by both tests, against sacreBLEU's own paired tests.

The text is made up. sacreBLEU tests only the four against the first, and takes the counts of each system once a test.
"""

import argparse
import os
import random
import time
from collections.abc import Callable

import numpy as np
from measuring import print_result, zipf_words
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from mtkit.config.schema import Evaluation
from mtkit.evaluation.comparison import System, compare
from mtkit.evaluation.scores import Scorer

SHARES = (0.30, 0.302, 0.31, 0.33, 0.40)
"""Of wrong words, one a system: some that can be told apart and some that cannot."""


def made_up(lines: int, words_a_line: int) -> tuple[list[str], list[System]]:
    """A reference, and systems that have some of its words wrong."""
    random_words = np.random.default_rng(1)
    vocabulary = zipf_words(5_000, random_words)
    draw = random.Random(1)
    reference = [draw.choices(vocabulary, k=max(1, round(draw.gauss(words_a_line, 8)))) for _ in range(lines)]
    systems = []
    for share in SHARES:
        spoilt = ([draw.choice(vocabulary) if draw.random() < share else word for word in line] for line in reference)
        systems.append(System(f"{share:.1%} wrong", [" ".join(line) for line in spoilt]))
    return [" ".join(line) for line in reference], systems


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """Prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=3003)
    parser.add_argument("--words", type=int, default=22, help="a line, on average")
    options = parser.parse_args()
    reference, systems = made_up(options.lines, options.words)
    config = Evaluation()
    os.environ["SACREBLEU_SEED"] = str(config.seed)
    named = [(system.name, system.lines) for system in systems]

    def theirs() -> None:
        for test, samples in (("bs", config.resamples), ("ar", config.trials)):
            PairedTest(named, {"BLEU": BLEU(), "chrF": CHRF()}, [reference], test, n_samples=samples)()

    ours = seconds(lambda: compare(systems, Scorer([reference], config)))
    baseline = seconds(theirs)
    print_result(
        "evaluate",
        seconds={"mtkit": round(ours, 1), "sacrebleu": round(baseline, 1)},
        ratio=round(baseline / ours, 2),
        lines=options.lines,
        systems=len(systems),
        metrics=config.metrics,
    )


if __name__ == "__main__":
    main()
