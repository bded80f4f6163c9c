"""Where systems are good: groups of sentences scored as a corpus of their own, lengths, and the most telling sentences."""

import pytest
import sacrebleu

from mtkit.config.schema import Evaluation
from mtkit.evaluation.analysis import (
    RATIOS,
    Texts,
    by_frequency,
    by_length,
    length_ratios,
    telling_examples,
    word_frequencies,
)
from mtkit.evaluation.comparison import System
from mtkit.evaluation.scores import Scorer

SHORT = ["The dog runs fast.", "A cat sleeps here."]
LONG = [
    "The old dog runs very fast over the green meadow today.",
    "A small black cat sleeps here on the soft chair all day.",
]
SOURCE = [*SHORT, *LONG]
REFERENCE = [
    *("Der Hund läuft schnell.", "Eine Katze schläft hier."),
    "Der alte Hund läuft heute sehr schnell über die grüne Wiese.",
    "Eine kleine schwarze Katze schläft hier den ganzen Tag auf dem weichen Stuhl.",
]
GOOD = System("good", [*REFERENCE[:3], "Eine kleine schwarze Katze schläft den ganzen Tag hier auf dem weichen Stuhl."])
POOR = System("poor", ["Der Hund geht schnell.", "Katze hier.", "Alter Hund läuft schnell über Wiese.", ""])
TEXTS = Texts(SOURCE, [REFERENCE], [GOOD, POOR])


def scorer() -> Scorer:
    return Scorer([REFERENCE], Evaluation(resamples=0))


def test_groups_by_length_are_scored_as_corpora_of_their_own() -> None:
    groups = {group.label: group for group in by_length(TEXTS, scorer())}
    assert [group.sentences for group in groups.values()] == [2, 0, 2, 0, 0, 0, 0]
    expected = [sacrebleu.corpus_bleu(system.lines[2:], [REFERENCE[2:]]).score for system in (GOOD, POOR)]
    assert groups["11–20"].scores == pytest.approx(expected)
    assert groups["1–5"].scores[0] == pytest.approx(100.0)
    assert groups["1–5"].scores[0] <= 100.0  # type: ignore[operator]
    assert groups["61+"].scores == (None, None)


def test_without_a_source_the_reference_is_measured() -> None:
    groups = by_length(Texts(None, [REFERENCE], [GOOD]), scorer())
    assert [group.sentences for group in groups] == [2, 0, 2, 0, 0, 0, 0]


def test_groups_by_the_rarest_word() -> None:
    training = ["The dog runs fast .", "the DOG runs fast and the dog sleeps", "A cat sleeps here", *["a cat"] * 10]
    frequency = word_frequencies(training, SOURCE)
    assert (frequency["dog"], frequency["a"], frequency["here"], frequency["meadow"]) == (3, 11, 1, 0)
    assert "and" not in frequency  # the test text has no such word
    groups = {group.label: group.sentences for group in by_frequency(TEXTS, scorer(), frequency)}
    assert groups == {"0": 2, "1": 1, "2–9": 1, "10–99": 0, "100–999": 0, "1,000+": 0}


def test_lines_without_words_belong_to_no_group() -> None:
    texts = Texts(["...", "The dog."], [["...", "Der Hund."]], [System("a", ["...", "Der Hund."])])
    groups = by_frequency(texts, Scorer(texts.references, Evaluation()), {"the": 5, "dog": 1})
    assert sum(group.sentences for group in groups) == 1


def test_lengths() -> None:
    good, poor = length_ratios(TEXTS, scorer())
    assert good.ratio == 1.0
    assert good.shares[RATIOS.index(1.05)] == 1.0
    assert poor.ratio == pytest.approx(sacrebleu.corpus_bleu(POOR.lines, [REFERENCE]).ratio)
    assert sum(poor.shares) == pytest.approx(1.0)
    assert poor.shares[0] == 0.25  # the empty line


def test_an_empty_reference_is_no_division_by_zero() -> None:
    texts = Texts(None, [["", ""]], [System("a", ["", "etwas"])])
    (found,) = length_ratios(texts, Scorer(texts.references, Evaluation()))
    assert (found.shares[RATIOS.index(1.05)], found.shares[-1]) == (0.5, 0.5)


def test_examples_are_those_on_which_the_systems_differ_most() -> None:
    examples = telling_examples(TEXTS, scorer(), 2)
    assert examples[0].line == 4
    assert examples[0].source == LONG[1]
    assert examples[0].translations == (GOOD.lines[3], "")
    differences = [example.scores[0] - example.scores[1] for example in examples]
    assert differences == sorted(differences, reverse=True)
    expected = sacrebleu.sentence_chrf(GOOD.lines[3], [REFERENCE[3]]).score
    assert examples[0].scores == pytest.approx((expected, 0.0))


def test_of_one_system_they_are_the_worst_and_never_a_perfect_one() -> None:
    examples = telling_examples(Texts(SOURCE, [REFERENCE], [GOOD]), scorer(), 10)
    assert [example.line for example in examples] == [4]
    assert telling_examples(Texts(SOURCE, [REFERENCE], [GOOD, GOOD]), scorer(), 10) == ()


def test_equal_references_are_told_once() -> None:
    two = Texts(SOURCE, [REFERENCE, [*REFERENCE[:3], "Anders."]], [GOOD, POOR])
    first, *others = telling_examples(two, Scorer(two.references, Evaluation()), 4)
    assert first.references == (REFERENCE[3], "Anders.")
    assert all(len(example.references) == 1 for example in others)
