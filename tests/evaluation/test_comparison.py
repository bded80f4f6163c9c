"""Comparisons say what sacreBLEU's significance code says on the same seed, and never more than the figures hold."""

import json
import os
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from mtkit.config.schema import Evaluation
from mtkit.evaluation.comparison import Comparison, System, compare
from mtkit.evaluation.comparison_text import comparison_text
from mtkit.evaluation.scores import Scorer
from mtkit.support.errors import UserError

WORDS = ["der", "die", "das", "Hund", "Katze", "Maus", "läuft", "schläft", "heute", "morgen", "gern", "nicht", "und", "aber"]


def text(lines: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(5, 15))) + "." for _ in range(lines)]


def spoilt(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with some words exchanged."""
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split()) for line in lines]


REFERENCE = text(120)
SYSTEMS = [
    System("good.de", spoilt(REFERENCE, 0.2, 2)),
    System("alike.de", spoilt(REFERENCE, 0.21, 3)),
    System("worse.de", spoilt(REFERENCE, 0.35, 4)),
    System("bad.de", spoilt(REFERENCE, 0.6, 5)),
]


def evaluation(**options: Any) -> Evaluation:
    return Evaluation.model_validate({"resamples": 200, "trials": 200, "seed": 7, "metrics": ["bleu"]} | options)


def compared(systems: list[System], **options: Any) -> tuple[Comparison, ...]:
    return compare(systems, Scorer([REFERENCE], evaluation(**options), reference_names=["ref.de"]))


@pytest.mark.parametrize("test", ["bs", "ar"])
@pytest.mark.parametrize(
    ("name", "make"), [("bleu", BLEU), ("chrf", CHRF), ("chrf++", lambda: CHRF(word_order=2)), ("ter", TER)]
)
def test_p_values_and_intervals_are_those_of_sacrebleu(
    name: str, make: Callable[[], Metric], test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    named = [(system.name, system.lines) for system in SYSTEMS]
    _, columns = PairedTest(named, {name: make()}, [REFERENCE], test, n_samples=200)()
    (theirs,) = (column for key, column in columns.items() if key != "System")
    (ours,) = compared(SYSTEMS, metrics=[name])
    for expected, found in zip(theirs, ours.standings, strict=True):
        assert not isinstance(expected, str)
        assert found.score.value == expected.score
        if test == "bs":
            assert found.score.interval is not None
            assert (found.score.interval.mean, found.score.interval.half_width) == (expected.mean, expected.ci)
        if found.difference is not None:
            p = found.difference.bootstrap_p if test == "bs" else found.difference.randomisation_p
            assert p == expected.p_value
    assert ours.standings[0].difference is None


def test_the_environments_seed_is_neither_used_nor_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compared(SYSTEMS)
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    assert compared(SYSTEMS) == plain
    assert os.environ["SACREBLEU_SEED"] == "99"


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others() -> None:
    assert compared(SYSTEMS) == compared(SYSTEMS)
    assert compared(SYSTEMS) != compared(SYSTEMS, seed=8)


def test_equal_systems_differ_by_nothing_and_not_significantly() -> None:
    twin = System("twin.de", list(SYSTEMS[0].lines))
    spaced = System("spaced.de", [f" {line.replace(' ', '  ')}" for line in SYSTEMS[0].lines])
    for comparison in compared([SYSTEMS[0], twin, spaced], metrics=["bleu", "chrf"]):
        for standing in comparison.standings[1:]:
            found = standing.difference
            assert found is not None
            assert f"{found.delta:.2f}" == "0.00"
            assert (found.bootstrap_p, found.randomisation_p, found.significant) == (1.0, 1.0, False)
            assert found.interval is not None
            assert (found.interval.mean, found.interval.half_width) == (0.0, 0.0)
        assert [standing.rank for standing in comparison.standings] == [1, 1, 1]
        assert "+0.00" in "\n".join(comparison_text(comparison))
        assert "twin.de (not significant)" in "\n".join(comparison_text(comparison))


@pytest.mark.parametrize(("differing", "least"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125), (120, 1 / 201)])
def test_few_lines_show_nothing_however_much_they_differ(differing: int, least: float) -> None:
    """A test that exchanges k lines has 2^k outcomes. sacreBLEU's own would say 1/201 of all these."""
    wrong = System("wrong.de", ["" if place < differing else line for place, line in enumerate(REFERENCE)])
    for comparison in compared([System("right.de", REFERENCE), wrong], metrics=["bleu", "ter"]):
        found = comparison.standings[1].difference
        assert found is not None
        assert found.randomisation_p is not None
        assert found.bootstrap_p is not None
        assert found.randomisation_p >= least
        assert found.bootstrap_p >= least
        if differing in (1, 120):
            assert (found.bootstrap_p, found.randomisation_p) == pytest.approx((least, least))
        assert found.significant == (differing == 120 or found.bootstrap_p < 0.05 > found.randomisation_p)


def test_one_sentence_makes_no_ranks() -> None:
    scorer = Scorer([["Eins zwei drei vier fünf."]], evaluation(trials=0))
    (found,) = compare([System("a", ["Etwas ganz anderes steht hier."]), System("b", ["Eins zwei drei vier fünf."])], scorer)
    assert [standing.rank for standing in found.standings] == [1, 1]
    assert found.standings[1].difference is not None
    assert found.standings[1].difference.bootstrap_p == 1.0


def test_ranks_are_shared_by_those_that_cannot_be_told_apart() -> None:
    bleu, ter = compared([SYSTEMS[2], SYSTEMS[0], SYSTEMS[3], SYSTEMS[1]], metrics=["bleu", "ter"])
    assert [standing.system for standing in bleu.standings] == ["worse.de", "good.de", "bad.de", "alike.de"]
    assert [standing.rank for standing in bleu.standings] == [3, 1, 4, 1]
    assert [standing.rank for standing in ter.standings] == [3, 1, 4, 1]  # of which lower is better
    (strict,) = compared(SYSTEMS, significance_level=0.003)  # below what 200 resamples can show
    assert [standing.rank for standing in strict.standings] == [1, 1, 1, 1]
    assert not any(standing.difference and standing.difference.significant for standing in strict.standings)


def test_ranks_come_from_the_trials_where_there_are_no_resamples() -> None:
    (found,) = compared(SYSTEMS, resamples=0)
    assert [standing.rank for standing in found.standings] == [1, 1, 3, 4]
    assert all(standing.score.interval is None for standing in found.standings)
    assert [standing.difference and standing.difference.bootstrap_p for standing in found.standings] == [None] * 4
    assert "paired bootstrap" not in found.tests
    (neither,) = compared(SYSTEMS, resamples=0, trials=0)
    assert [standing.rank for standing in neither.standings] == [1, 1, 1, 1]
    assert neither.tests == "no test of significance was asked for: all share rank 1"
    told = "\n".join(comparison_text(neither))
    assert "significant)" not in told
    assert "p <" not in told


def test_the_interval_of_a_difference_is_paired() -> None:
    """It is much narrower than the intervals of the scores: easy and hard sentences are so for both systems."""
    (found,) = compared(SYSTEMS[:2])
    one, other = found.standings
    assert other.difference is not None
    assert other.difference.interval is not None
    assert one.score.interval is not None
    assert other.difference.interval.mean == pytest.approx(other.difference.delta, abs=0.5)
    assert other.difference.interval.half_width < 1.5 * one.score.interval.half_width


def test_no_score_for_unequal_counts() -> None:
    short = System("short.de", SYSTEMS[1].lines[:-1])
    with pytest.raises(UserError, match=r"^short\.de: hypotheses 119 lines, reference ref\.de 120 lines: "):
        compared([SYSTEMS[0], short])


def test_a_perfect_score_is_no_more_than_100() -> None:
    perfect = [System("perfect.de", REFERENCE), SYSTEMS[0]]
    for comparison in compared(perfect, metrics=["bleu", "chrf", "chrf++"]):
        score = comparison.standings[0].score
        assert score.interval is not None
        assert max(score.value, score.interval.mean) <= 100.0 == pytest.approx(score.value)
    assert BLEU().corpus_score(REFERENCE, [REFERENCE]).score > 100.0  # what it is for


def test_the_table() -> None:
    (found,) = compared(SYSTEMS)
    head, columns, *rows, foot = comparison_text(found)
    assert head.startswith("BLEU of 4 systems | nrefs:1|case:mixed|")
    assert head.endswith(" | ref.de, 120 lines")
    assert columns.split("  ")[-1] == "system"
    assert re.findall(r"rank|score|interval|delta|boot|rand", columns) == [
        *("rank", "score", "interval", "delta", "interval", "boot", "rand")
    ]
    baseline, alike, worse, _ = rows
    assert baseline.split()[0] == "1"
    assert baseline.endswith("good.de (baseline)")
    assert alike.endswith("alike.de (not significant)")
    assert worse.endswith("worse.de (significant)")
    second = found.standings[1]
    assert second.difference is not None
    assert f"{second.difference.delta:+.2f}" in alike
    assert f"{second.difference.bootstrap_p:.4f}" in alike
    assert "paired bootstrap, 200 resamples; approximate randomisation, 200 trials; seed 7" in foot


def test_json_tells_the_same() -> None:
    (found,) = compared(SYSTEMS)
    told = json.loads(json.dumps(found.to_json()))
    assert (told["metric"], told["baseline"], told["seed"], told["resamples"]) == ("bleu", "good.de", 7, 200)
    assert told["signature"].startswith("nrefs:1|")
    second = found.standings[1]
    assert second.difference is not None
    assert told["standings"][0]["difference"] is None
    assert told["standings"][1]["score"] == second.score.value
    assert told["standings"][1]["difference"]["bootstrap_p"] == second.difference.bootstrap_p
    assert told["standings"][2]["difference"]["significant"] is True


def test_several_references_and_tokenisers_serve_all_systems() -> None:
    two = Scorer([REFERENCE, list(SYSTEMS[1].lines)], evaluation(trials=0))
    (found,) = compare(SYSTEMS[:2], two)
    assert found.standings[1].score.value == pytest.approx(100.0)
    assert found.standings[1].score.signature.startswith("nrefs:2|")
