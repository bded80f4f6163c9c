"""BPE-dropout: other pieces each time, the same text, a function of the update's number, and no budget exceeded."""

import itertools
from contextlib import closing

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.binarized import Pairs
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.data.vocabulary import EOS, PAD
from mtkit.support.distributed import Processes
from mtkit.training.feed import Feed, Update
from mtkit.training.sampling import Sampler, planned

WORDS = {"parliament": 40, "resumption": 30, "session": 30, "declared": 20, "the": 90, "of": 50, "adjourned": 10}
VOCABULARIES = learn_vocabularies([WORDS], schema.Vocabulary(size=400, soft_limit=True), tags=["<bt>"])
LINES = ["the resumption of the session", "parliament declared the session adjourned", "the", "of the parliament"] * 8


def pairs(vocabularies: Vocabularies = VOCABULARIES, lines: list[str] = LINES, tag: bool = False) -> Pairs:
    front = [vocabularies.source.tag_id("<bt>")] if tag else []
    source = [front + tokens for tokens in vocabularies.source.encode(lines)]
    target = vocabularies.target.encode(list(reversed(lines)))
    ends = [np.cumsum([len(tokens) for tokens in side]) for side in (source, target)]
    return Pairs(np.concatenate(source), np.concatenate(target), np.column_stack([*ends, range(1, len(lines) + 1)]))


def feed(dropout: float = 0.3, processes: Processes | None = None, budget: int = 60) -> Feed:
    training = schema.Training(update_tokens=2 * budget, micro_batch_tokens=budget, bpe_dropout=dropout)
    return Feed(pairs(), training, torch.device("cpu"), processes or Processes(), VOCABULARIES)


def taken(source: Feed, first: int, count: int) -> list[Update]:
    with closing(source.updates(first)) as updates:
        return list(itertools.islice(updates, count))


def sources(update: Update) -> list[list[int]]:
    rows = [row for micro_batch in update.micro_batches for row in micro_batch.batch.source.tolist()]
    return [[token for token in row if token not in (PAD, EOS)] for row in rows]


def content(update: Update) -> tuple[object, ...]:
    return (update.number, update.target_tokens, [one.batch.source.tolist() for one in update.micro_batches])


def test_the_text_stays_and_the_pieces_change_from_epoch_to_epoch() -> None:
    source = feed()
    per_epoch = len(source.plan(0).updates)
    epochs = [taken(source, 1 + epoch * per_epoch, per_epoch) for epoch in range(2)]
    cut = []
    for updates in epochs:
        rows = [row for update in updates for row in sources(update)]
        assert sorted(VOCABULARIES.source.decode(rows)) == sorted(LINES)
        cut.append(sorted(map(tuple, rows)))
    assert cut[0] != cut[1]
    plain = [tuple(tokens) for tokens in VOCABULARIES.source.encode(LINES)]
    assert sum(map(len, cut[0])) > 1.3 * sum(map(len, plain))


def test_an_update_is_a_function_of_its_number() -> None:
    straight = [content(update) for update in taken(feed(), 1, 20)]
    for first in (2, 9, 17):
        VOCABULARIES.source.encode_sampled(["the parliament"] * 3, 0.5, 12345)  # somebody else draws in between
        assert [content(update) for update in taken(feed(), first, 3)] == straight[first - 1 : first + 2]


def test_processes_share_what_one_would_do() -> None:
    alone = taken(feed(), 1, 6)
    shared = [taken(feed(processes=Processes(rank, 2)), 1, 6) for rank in range(2)]
    for one, two in zip(alone, zip(*shared, strict=True), strict=True):
        assert {update.target_tokens for update in two} == {one.target_tokens}
        real = [m for update in two for m in update.micro_batches if m.weight]
        assert sorted(m.batch.source.tolist() for m in real) == sorted(m.batch.source.tolist() for m in one.micro_batches)
        assert one.target_tokens == sum(int((m.batch.target_output != PAD).sum()) for m in one.micro_batches)


@pytest.mark.parametrize("dropout", [0.05, 0.3, 0.9])
def test_no_micro_batch_exceeds_its_budget(dropout: float) -> None:
    for update in taken(feed(dropout, budget=25), 1, 40):
        for micro_batch in update.micro_batches:
            assert micro_batch.batch.source.numel() <= 25
            assert micro_batch.batch.target_output.numel() <= 25


def test_without_dropout_all_is_as_it_was() -> None:
    plain = Feed(pairs(), schema.Training(update_tokens=120, micro_batch_tokens=60), torch.device("cpu"), Processes())
    assert [content(u) for u in taken(plain, 1, 5)] == [content(u) for u in taken(feed(0.0), 1, 5)]


def test_a_tag_stays_in_front() -> None:
    tag = VOCABULARIES.source.tag_id("<bt>")
    sentences, _ = pairs(tag=True).gather(np.arange(4))
    sampled = Sampler(VOCABULARIES.source, 0.5).sample(sentences, 100, 7)
    assert [tokens[0] for tokens in sampled] == [tag] * 4
    assert VOCABULARIES.source.decode([tokens.tolist() for tokens in sampled]) == LINES[:4]
    short = Sampler(VOCABULARIES.source, 0.9).sample(sentences, max(map(len, sentences)), 7)
    assert max(map(len, short)) <= max(map(len, sentences))


def test_lengths_are_planned_with_room_to_grow() -> None:
    assert planned(np.array([10, 20, 90]), 0.1, 100).tolist() == [16, 32, 100]
    assert planned(np.array([10, 20, 90]), 0.0, 100).tolist() == [10, 20, 90]
