"""Plan law: an epoch's plan is a function of (lengths, budget, seed, epoch) that uses each sentence once."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mtkit.data.batching import EpochPlan, cut, plan_epoch
from mtkit.support.errors import UserError

Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """Lengths of both sides."""

    source: Lengths
    target: Lengths

    def plan(self, budget: int, *, update: int = 0, seed: int = 1, epoch: int = 0) -> EpochPlan:
        return plan_epoch(
            self.source,
            self.target,
            micro_batch_tokens=budget,
            update_tokens=update or 8 * budget,
            seed=seed,
            epoch=epoch,
        )


def news(lines: int) -> Corpus:
    """Lengths like those of news and parliament in pieces: long-tailed, the sides in proportion."""
    random = np.random.default_rng(7)
    source = np.clip(random.lognormal(3.2, 0.65, lines), 1, 256).astype(np.int64)
    target = np.clip(source * random.lognormal(0.05, 0.25, lines), 1, 256).astype(np.int64)
    return Corpus(source, target)


def captions(lines: int) -> Corpus:
    """Lengths like those of picture captions: short, all alike."""
    random = np.random.default_rng(7)
    source = np.clip(random.normal(15, 4, lines), 4, 45).astype(np.int64)
    target = np.clip(source + random.normal(0, 3, lines), 4, 45).astype(np.int64)
    return Corpus(source, target)


def micro_batches(plan: EpochPlan) -> list[list[int]]:
    """Sentence numbers of every micro-batch, update by update."""
    return [batch.tolist() for update in range(len(plan.updates)) for batch in plan.micro_batches(update)]


def check(plan: EpochPlan, corpus: Corpus, budget: int) -> None:
    """Each sentence once, budget kept on both sides, each micro-batch in one update, updates of like size."""
    batches = micro_batches(plan)
    assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(len(corpus.source)))
    for batch in batches:
        assert len(batch) * corpus.source[batch].max() <= budget
        assert len(batch) * corpus.target[batch].max() <= budget
    assert np.array_equal(np.sort(np.concatenate(plan.updates)), np.arange(len(plan.starts)))
    sizes = [len(update) for update in plan.updates]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


@st.composite
def corpora(draw: st.DrawFn) -> tuple[Corpus, int]:
    """Up to 60 pairs and a budget, sometimes no larger than the longest sentence."""
    lengths = np.array(draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)))
    return Corpus(lengths[:, 0], lengths[:, 1]), int(lengths.max()) + draw(st.integers(0, 80))


@settings(deadline=None)
@given(corpora(), st.integers(1, 5), st.integers(0, 3), st.integers(0, 3))
def test_each_sentence_once_within_the_budget(drawn: tuple[Corpus, int], per_update: int, seed: int, epoch: int) -> None:
    corpus, budget = drawn
    check(corpus.plan(budget, update=per_update * budget, seed=seed, epoch=epoch), corpus, budget)


@settings(deadline=None)
@given(corpora())
def test_a_cut_makes_the_fewest_runs(drawn: tuple[Corpus, int]) -> None:
    corpus, budget = drawn
    longest = np.maximum(corpus.source, corpus.target)
    runs = [0]  # the fewest runs that the first n sentences need, from all places where the last run may begin
    for end in range(1, len(longest) + 1):
        fitting = [begin for begin in range(end) if (end - begin) * longest[begin:end].max() <= budget]
        runs.append(1 + min(runs[begin] for begin in fitting))
    starts = cut(corpus.source, corpus.target, budget)
    assert len(starts) == runs[-1]
    for run in np.split(longest, starts[1:]):
        assert len(run) * run.max() <= budget


def test_a_large_corpus_is_planned_whole() -> None:
    corpus = news(200_000)
    check(corpus.plan(3125), corpus, 3125)


def test_a_sentence_as_long_as_the_budget_goes_alone() -> None:
    corpus = Corpus(np.array([1, 3, 100, 2]), np.array([100, 1, 1, 2]))
    batches = micro_batches(corpus.plan(100))
    assert [0] in batches
    assert [2] in batches
    assert len(micro_batches(Corpus(np.array([100]), np.array([100])).plan(100))) == 1


def test_a_sentence_above_the_budget_is_refused() -> None:
    with pytest.raises((AssertionError, UserError)):
        Corpus(np.array([5, 101]), np.array([5, 5])).plan(100)


def test_the_plan_follows_from_its_arguments_alone() -> None:
    corpus = news(2000)
    first = micro_batches(corpus.plan(1000, seed=3, epoch=2))
    np.random.seed(9)
    torch.manual_seed(9)
    assert micro_batches(corpus.plan(1000, seed=3, epoch=2)) == first
    for other in (corpus.plan(1000, seed=4, epoch=2), corpus.plan(1000, seed=3, epoch=3), corpus.plan(999, seed=3, epoch=2)):
        assert micro_batches(other) != first
    assert micro_batches(corpus.plan(1000, seed=2, epoch=3)) != first, "seed and epoch are two numbers, not their sum"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
def test_the_plan_does_not_depend_on_how_lengths_are_stored(dtype: type[np.integer]) -> None:
    corpus = Corpus(np.arange(1, 256), np.arange(255, 0, -1))
    stored = plan_epoch(
        corpus.source.astype(dtype),
        corpus.target.astype(dtype),
        micro_batch_tokens=3000,
        update_tokens=6000,
        seed=1,
        epoch=0,
    )
    assert micro_batches(stored) == micro_batches(corpus.plan(3000, update=6000))


@pytest.mark.parametrize("corpus", [news(10_000), captions(10_000)], ids=["news", "captions"])
def test_sentences_meet_others_in_the_next_epoch(corpus: Corpus) -> None:
    plans = [micro_batches(corpus.plan(3125, epoch=epoch)) for epoch in (0, 1)]
    batches = [{frozenset(batch) for batch in plan} for plan in plans]
    assert len(batches[0] & batches[1]) < 0.5 * len(batches[0])
    number = [np.empty(10_000, dtype=np.int64) for _ in plans]
    for numbers, plan in zip(number, plans, strict=True):
        for n, batch in enumerate(plan):
            numbers[batch] = n
    # Of the companions of a sentence in one epoch, the share that it meets again in the next.
    both = np.unique(number[0] * len(plans[1]) + number[1], return_counts=True)[1].astype(float)
    once = np.bincount(number[0]).astype(float)
    again = (both * (both - 1)).sum() / (once * (once - 1)).sum()
    assert again < 0.5


def test_micro_batches_come_in_random_order() -> None:
    """Short and long sentences alternate: an update is a fair sample of the corpus."""
    corpus = news(20_000)
    plan = corpus.plan(3125)
    of_updates = [
        np.mean([corpus.source[batch].mean() for batch in plan.micro_batches(n)]) for n in range(len(plan.updates))
    ]
    halves = np.array_split(np.array(of_updates), 2)
    assert halves[0].mean() == pytest.approx(halves[1].mean(), rel=0.2)


@pytest.mark.parametrize("corpus", [news(100_000), captions(29_000)], ids=["news", "captions"])
def test_little_is_padding(corpus: Corpus) -> None:
    batches = micro_batches(corpus.plan(3125))
    padded = sum(len(batch) * (corpus.source[batch].max() + corpus.target[batch].max()) for batch in batches)
    real = corpus.source.sum() + corpus.target.sum()
    assert 1 - real / padded <= 0.055


def test_an_update_is_about_as_large_as_asked() -> None:
    plan = news(20_000).plan(1000, update=8000)
    sizes = [len(update) for update in plan.updates]
    assert {7, 8, 9} >= set(sizes)
    assert len(news(200).plan(1000, update=10**9).updates) == 1


@pytest.mark.parametrize(("lines", "budget", "tokens"), [(5000, 1000, 1600), (500, 1000, 16_000)])
def test_an_update_is_at_most_as_large_as_asked(lines: int, budget: int, tokens: int) -> None:
    """training.update_tokens: source at most, and target at most (config.schema)."""
    corpus = news(lines)
    plan = corpus.plan(budget, update=tokens)
    for update in range(len(plan.updates)):
        for lengths in (corpus.source, corpus.target):
            assert sum(len(batch) * lengths[batch].max() for batch in plan.micro_batches(update)) <= tokens
