"""Updates are a function of their number; processes share their micro-batches; failures and endings reach the training."""

import itertools
import threading
from contextlib import closing

import numpy as np
import pytest
import torch

from mtkit.config.schema import Training
from mtkit.data.binarized import Pairs
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training.feed import Feed, MicroBatch, Update
from mtkit.training.seeds import mixed

CPU = torch.device("cpu")


def numbered(lengths: list[tuple[int, int]]) -> Pairs:
    """Pairs of these lengths, all tokens different; pair i comes from corpus line 10 * i + 10."""
    source, target = zip(*lengths, strict=True)
    ends = np.column_stack([np.cumsum(source), np.cumsum(target), 10 * np.arange(1, len(lengths) + 1)])
    return Pairs(1000 + np.arange(sum(source)), 5000 + np.arange(sum(target)), ends)


def unequal(count: int = 60) -> Pairs:
    random = np.random.default_rng(1)
    return numbered([(int(a), int(b)) for a, b in random.integers(1, 12, size=(count, 2))])


def feed(pairs: Pairs, processes: Processes | None = None, **options: int) -> Feed:
    training = Training.model_validate({"update_tokens": 120, "micro_batch_tokens": 40, **options})
    return Feed(pairs, training, CPU, processes or Processes())


def taken(source: Feed, first: int, count: int) -> list[Update]:
    with closing(source.updates(first)) as updates:
        return list(itertools.islice(updates, count))


def content(micro_batch: MicroBatch) -> tuple[int, float, list[list[int]], list[list[int]], list[list[int]]]:
    batch = micro_batch.batch
    return (
        micro_batch.seed,
        micro_batch.weight,
        batch.source.tolist(),
        batch.target_input.tolist(),
        batch.target_output.tolist(),
    )


def contents(update: Update) -> tuple[int, int, int, list[object]]:
    return (update.number, update.epoch, update.target_tokens, [content(one) for one in update.micro_batches])


def test_an_update_is_a_function_of_its_number() -> None:
    source = feed(unequal())
    straight = [contents(update) for update in taken(source, 1, 20)]
    assert [number for number, *_ in straight] == list(range(1, 21))
    epochs = [epoch for _, epoch, *_ in straight]
    assert epochs == sorted(epochs)
    assert epochs[0] == 0
    assert epochs[-1] >= 2
    boundary = epochs.index(1) + 1  # number of the last update of the first epoch
    for first in (2, boundary, boundary + 1, 17):
        assert [contents(update) for update in taken(feed(unequal()), first, 3)] == straight[first - 1 : first + 2]


def test_an_epoch_has_each_pair_once_and_the_next_has_other_batches() -> None:
    source = feed(unequal())
    updates = taken(source, 1, 2 * len(source.plan(0).updates))
    epochs = []
    for epoch in (0, 1):
        batches = [one.batch for update in updates if update.epoch == epoch for one in update.micro_batches]
        epochs.append({tuple(sorted(batch.source[:, 0].tolist())) for batch in batches})
    first, second = epochs
    firsts = [1000, *(1000 + np.cumsum(unequal().source_lengths)[:-1])]
    assert sorted(itertools.chain(*first)) == sorted(itertools.chain(*second)) == firsts
    assert len(first & second) < len(first) / 2


def test_target_tokens_count_end_tokens_and_no_padding() -> None:
    for update in taken(feed(unequal()), 1, 5):
        assert update.target_tokens == sum(int((one.batch.target_output != 0).sum()) for one in update.micro_batches)


def test_seeds_differ_between_micro_batches_and_runs() -> None:
    seeds = [one.seed for update in taken(feed(unequal()), 1, 20) for one in update.micro_batches]
    assert len(set(seeds)) == len(seeds)
    others = [one.seed for update in taken(feed(unequal(), seed=2), 1, 20) for one in update.micro_batches]
    assert not set(seeds) & set(others)
    assert mixed(1, 2) == mixed(1, 2) != mixed(2, 1)
    assert 0 <= min(seeds) <= max(seeds) < 2**63


@pytest.mark.parametrize("count", [2, 3, 4])
def test_processes_share_the_micro_batches_of_an_update(count: int) -> None:
    alone = taken(feed(unequal()), 1, 12)
    shared = [taken(feed(unequal(), Processes(rank, count, rank)), 1, 12) for rank in range(count)]
    stood_in = 0
    for whole, parts in zip(alone, zip(*shared, strict=True), strict=True):
        assert {part.target_tokens for part in parts} == {whole.target_tokens}
        assert len({len(part.micro_batches) for part in parts}) == 1
        dealt = [one for round in zip(*(part.micro_batches for part in parts), strict=True) for one in round]
        real = [content(one) for one in dealt if one.weight]
        assert real == [content(one) for one in whole.micro_batches]
        assert {one.weight for one in dealt} <= {0.0, 1.0}
        stood_in += len(dealt) - len(real)
    assert stood_in  # or the test would not have seen an uneven number


def test_a_pair_over_the_budget_is_refused_with_its_line() -> None:
    pairs = numbered([(5, 5), (3, 39), (40, 2), (4, 4)])
    with pytest.raises(UserError) as caught:
        feed(pairs)
    assert str(caught.value) == (
        "training.micro_batch_tokens 40 is less than the 41 tokens of the pair from corpus line 30: "
        "raise it, or prepare with a lower cleaning.max_tokens"
    )
    assert taken(feed(numbered([(5, 5), (3, 39), (39, 2), (4, 4)])), 1, 1)


def feeding() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "feed"]


def test_a_failure_of_the_thread_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    source = feed(unequal())
    whole = source.plan
    broken = ValueError("the disk is gone")

    def plan(epoch: int, window: int) -> object:
        if epoch == 1:
            raise broken
        return whole(epoch)

    monkeypatch.setattr(source, "plan", plan)
    updates = source.updates(1)
    with pytest.raises(ValueError, match="the disk is gone") as caught:
        list(updates)
    assert caught.value is broken
    assert not feeding()


def test_closing_ends_the_thread_wherever_it_stands() -> None:
    for count in (0, 1, 5):
        updates = feed(unequal()).updates(1)
        for _ in range(count):
            next(updates)
        assert len(feeding()) == (1 if count else 0)
        updates.close()
        assert not feeding()


def test_the_wait_for_an_update_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = taken(feed(unequal()), 1, 3)
    slow = feed(unequal())
    pause = threading.Event()
    whole = slow.plan
    monkeypatch.setattr(slow, "plan", lambda epoch, window: (pause.wait(0.2), whole(epoch, window))[1])
    assert taken(slow, 1, 1)[0].waited >= 0.15
    assert all(update.waited >= 0.0 for update in quick)
