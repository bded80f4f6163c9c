"""Large corpora are planned window by window, and corpora may count more or less than once."""

import itertools
from contextlib import closing

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data import batching
from mtkit.data.batching import epoch_windows
from mtkit.data.binarized import Pairs, Weights
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training import feed as feeding
from mtkit.training.feed import Feed


def pairs(count: int, weights: Weights | None = None) -> Pairs:
    """Pair i has the one source token 10 + i."""
    random = np.random.default_rng(1)
    target = random.integers(1, 9, size=count)
    ends = np.column_stack([np.arange(1, count + 1), np.cumsum(target), np.arange(1, count + 1)])
    return Pairs(10 + np.arange(count), np.full(target.sum(), 5), ends, weights)


def feed(source: Pairs, seed: int = 1) -> Feed:
    training = schema.Training(update_tokens=120, micro_batch_tokens=40, seed=seed)
    return Feed(source, training, torch.device("cpu"), Processes())


def epoch(source: Feed, number: int) -> list[int]:
    """The pairs of an epoch, in the order in which they are learned from."""
    found = []
    for window in range(len(source._windows(number))):
        plan = source.plan(number, window)
        found += [pair for update in range(len(plan.updates)) for batch in plan.micro_batches(update) for pair in batch]
    return [int(pair) for pair in found]


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 200 pairs in blocks of 16."""
    monkeypatch.setattr(batching, "WINDOW", 200)
    monkeypatch.setattr(batching, "NEIGHBOURS", 16)
    monkeypatch.setattr(feeding, "NEIGHBOURS", 16)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("count", [1, 199, 200, 201, 1000, 1013])
def test_each_pair_once_an_epoch_in_other_company_each_time(count: int) -> None:
    source = feed(pairs(count))
    first, second = epoch(source, 0), epoch(source, 1)
    assert sorted(first) == sorted(second) == list(range(count))
    assert count < 2 or first != second
    if count > 200:
        halves = [set(order[: count // 2]) for order in (first, second)]
        assert len(halves[0] & halves[1]) < 0.75 * count / 2, "other blocks meet in each epoch"


@pytest.mark.usefixtures("small_windows")
def test_updates_go_on_over_windows_and_epochs() -> None:
    source = feed(pairs(450))
    with closing(source.updates(1)) as updates:
        straight = list(itertools.islice(updates, 150))
    assert [update.number for update in straight] == list(range(1, 151))
    closing_updates = [update.number for update in straight if update.closes_epoch]
    assert len(closing_updates) >= 2
    learned = [
        token for update in straight[: closing_updates[0]] for m in update.micro_batches for token in m.batch.source[:, 0]
    ]
    assert sorted(map(int, learned)) == [10 + i for i in range(450)]
    for first in (2, closing_updates[0], closing_updates[0] + 1, 101):
        with closing(feed(pairs(450)).updates(first)) as updates:
            again = next(updates)
        assert again.number == first
        assert [m.batch.source.tolist() for m in again.micro_batches] == [
            m.batch.source.tolist() for m in straight[first - 1].micro_batches
        ]


def test_a_small_corpus_is_one_window_in_its_order() -> None:
    for count in (1, 8191, 8193, 1 << 20):
        (window,) = epoch_windows(count, seed=1, epoch=3)
        assert window.tolist() == list(range(-(-count // 8192)))
    windows = epoch_windows(300_000_000, seed=1, epoch=0)
    assert len(windows) == 287
    assert np.array_equal(np.sort(np.concatenate(windows)), np.arange(-(-300_000_000 // 8192)))
    assert {len(window) for window in windows} <= {127, 128}


@pytest.mark.usefixtures("small_windows")
def test_weights_repeat_and_thin_out() -> None:
    weights = Weights(np.array([100, 400, 450]), np.array([1.0, 0.5, 2.25]))
    source = feed(pairs(450, weights))
    counts = [np.bincount(epoch(source, number), minlength=450) for number in range(40)]
    for count in counts:
        assert (count[:100] == 1).all()
        assert set(count[100:400]) <= {0, 1}
        assert set(count[400:]) <= {2, 3}
    mean = np.mean(counts, axis=0)
    assert abs(mean[100:400].mean() - 0.5) < 0.02
    assert abs(mean[400:].mean() - 2.25) < 0.05
    assert not np.array_equal(counts[0], counts[1]), "another half in each epoch"
    assert np.array_equal(counts[3], np.bincount(epoch(feed(pairs(450, weights)), 3), minlength=450))


@pytest.mark.usefixtures("small_windows")
def test_heavy_weights_fill_more_windows_not_larger_ones() -> None:
    """A weight of 100 would else make a plan of a hundred times the size, and memory with it."""
    source = feed(pairs(480, Weights(np.array([160, 480]), np.array([100.0, 1.0]))))
    windows = len(source._windows(0))
    assert windows == 30, "one for each block: there are no more"
    assert max(len(source.plan(0, window).order) for window in range(windows)) == 16 * 100
    assert np.bincount(epoch(source, 0)).tolist() == [100] * 160 + [1] * 320
    assert len(feed(pairs(480, Weights(np.array([160, 480]), np.array([2.0, 0.25]))))._windows(0)) == 3


def test_weights_that_leave_nothing_are_refused() -> None:
    source = feed(pairs(3, Weights(np.array([3]), np.array([1e-9]))))
    with closing(source.updates(1)) as updates, pytest.raises(UserError, match=r"weights of data\.train"):
        next(updates)
