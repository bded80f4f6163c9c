"""From numbered pairs to batches: which sentences go together (the plan), and their ids as padded arrays (collate).

The plan of an epoch is a function of (lengths, budget, seed, epoch): each sentence once, no micro-batch above its budget of
padded tokens on either side, other company for a sentence in each epoch. Lengths include the end-of-sentence token.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.data.vocabulary import BOS, EOS, PAD

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """B sentence pairs as padded ids: S and T are the longest source and target with one control token each."""

    source: Tensor  # [B, S], ends in EOS
    source_mask: Tensor | None  # [B, S], True at real tokens; None where all are
    target_input: Tensor  # [B, T], begins with BOS
    target_output: Tensor  # [B, T], ends in EOS, PAD after it

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device; does not wait for the copy where the memory is pinned."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> "Batch":
        """The same batch in memory that a GPU copies from while the CPU goes on."""
        return self._each(Tensor.pin_memory)

    def _each(self, function: Callable[[Tensor], Tensor]) -> "Batch":
        mask = None if self.source_mask is None else function(self.source_mask)
        return Batch(function(self.source), mask, function(self.target_input), function(self.target_output))


@dataclass(frozen=True)
class EpochPlan:
    """Which sentences form each micro-batch of an epoch, and which micro-batches form each update."""

    order: Indices  # [N] sentence numbers
    starts: Indices  # [M] where each micro-batch begins in `order`
    updates: tuple[Indices, ...]  # for each update, the numbers of its micro-batches

    def over(self, numbers: Indices) -> "EpochPlan":
        """The same plan where sentence i is called `numbers[i]`."""
        return replace(self, order=numbers[self.order])

    def micro_batches(self, update: int) -> list[Indices]:
        """Sentence numbers of each micro-batch of the epoch's update number `update` (from 0)."""
        ends = np.append(self.starts[1:], len(self.order))
        return [self.order[self.starts[number] : ends[number]] for number in self.updates[update]]


def cut(source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], budget: int) -> Indices:
    """Cuts sentences, in the order given, into the fewest runs of at most `budget` padded tokens on each side.

    Returns the first sentence of each run [M]. Every length must be at most `budget`.
    """
    assert not len(source_lengths) or max(source_lengths.max(), target_lengths.max()) <= budget, budget
    starts = []
    start, count = 0, len(source_lengths)
    while start < count:
        longest = max(source_lengths[start], target_lengths[start])
        window = slice(start, start + budget // longest)
        widest = np.maximum.accumulate(np.maximum(source_lengths[window], target_lengths[window]))
        fits = widest * np.arange(1, len(widest) + 1) <= budget
        starts.append(start)
        start += len(fits) if fits.all() else int(fits.argmin())
    return np.array(starts, dtype=np.int64)


WINDOW = 1 << 20
"""Pairs that are planned together, about: memory and time of a plan do not grow with the corpus."""

NEIGHBOURS = 1 << 13
"""Pairs that lie side by side on the disk and go into the same window; other such blocks meet in each epoch."""


def epoch_windows(count: int, *, seed: int, epoch: int, weight: float = 0.0) -> list[Indices]:
    """The windows of an epoch over `count` pairs, as numbers of blocks of NEIGHBOURS pairs each.

    Each block is in one window, other blocks together in each epoch; a small corpus is in one window. `weight` is the sum of
    the weights of all pairs where these have any: pairs that occur many times an epoch fill more windows.
    """
    blocks = -(-count // NEIGHBOURS)
    pairs = max(count, int(weight))
    if pairs <= WINDOW:
        return [np.arange(blocks)]
    shuffled = np.random.default_rng([seed, epoch]).permutation(blocks)
    return [np.sort(window) for window in np.array_split(shuffled, min(blocks, -(-pairs // WINDOW)))]


def plan_epoch(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    *,
    micro_batch_tokens: int,
    update_tokens: int,
    seed: int,
    epoch: int,
    window: int = 0,
) -> EpochPlan:
    """The plan of window `window` of epoch `epoch` (both from 0) over its N pairs, [N] lengths in tokens on each side.

    The lengths include the control token.

    Sentences of like lengths are neighbours, in random order; micro-batches are shuffled, and consecutive ones form
    updates of at most `update_tokens` padded tokens a side, all with the same number of micro-batches, give or take one.
    """
    random = np.random.default_rng([seed, epoch, window] if window else [seed, epoch])
    source, target = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
    # By the longer side, blurred a little so that neighbours differ between epochs; then by the difference of the sides, to
    # and fro, so that neighbours are alike on both sides even where the longer side changes.
    longer = np.maximum(source, target)
    rank = np.floor(longer + random.random(len(longer)) * (1.0 + 0.03 * longer))
    difference = source - target + random.random(len(longer))
    order = np.lexsort((np.where(rank % 2 == 0, difference, -difference), rank))
    starts = cut(source[order], target[order], micro_batch_tokens)
    per_update = update_tokens // micro_batch_tokens
    updates = np.array_split(random.permutation(len(starts)), max(-(-len(starts) // per_update), 1)) if len(starts) else ()
    return EpochPlan(order.astype(np.int64), starts, tuple(updates))


def pad(sequences: Sequence[NDArray[np.int64]], *, first: int | None = None, last: int | None = None) -> Tensor:
    """Ids of B sequences as [B, longest], `first` put before and `last` put after each, PAD behind."""
    begin = 0 if first is None else 1
    lengths = np.array([len(sequence) for sequence in sequences])
    padded = np.full((len(sequences), begin + lengths.max() + (last is not None)), PAD, dtype=np.int64)
    places = np.arange(padded.shape[1])
    padded[(places >= begin) & (places < begin + lengths[:, None])] = np.concatenate(sequences)
    if first is not None:
        padded[:, 0] = first
    if last is not None:
        padded[np.arange(len(sequences)), begin + lengths] = last
    return torch.from_numpy(padded)


def padding_mask(padded: Tensor) -> Tensor | None:
    """[B, S] ids -> [B, S], True at real tokens; None where nothing is padding, which attention does faster."""
    mask = padded != PAD
    return None if bool(mask.all()) else mask


def collate(sources: Sequence[NDArray[np.int64]], targets: Sequence[NDArray[np.int64]]) -> Batch:
    """Pairs of ids without control tokens -> a batch with them."""
    source = pad(sources, last=EOS)
    return Batch(source, padding_mask(source), pad(targets, first=BOS), pad(targets, last=EOS))
