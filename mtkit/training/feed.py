"""Which batches an update learns from, and their preparation ahead of time.

The position law: everything here is a function of (config, update number). The hardware law: the micro-batches of an update
do not depend on how many processes share them; process r of W takes numbers r, r + W, …
"""

import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.batching import NEIGHBOURS, Batch, EpochPlan, collate, epoch_windows, plan_epoch
from mtkit.data.binarized import Pairs
from mtkit.data.vocabularies import Vocabularies
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training.sampling import Sampler, planned
from mtkit.training.seeds import mixed


@dataclass(frozen=True)
class MicroBatch:
    """One forward pass. `weight` 0 marks a stand-in that keeps processes in step and adds nothing."""

    seed: int  # of its dropout masks
    batch: Batch
    weight: float


@dataclass(frozen=True)
class Update:
    """What this process does for one optimiser update."""

    number: int  # from 1
    epoch: int  # from 0
    closes_epoch: bool  # whether it is the last one of its epoch
    target_tokens: int  # of all processes: what the sum of losses is divided by
    micro_batches: tuple[MicroBatch, ...]  # of this process; as many in each
    waited: float  # seconds the training waited for it


def refuse_longer(pairs: Pairs, split: str, limit: int | None) -> None:
    """UserError if a sentence of `split` has more tokens, its control token included, than the model has positions for."""
    worst, length = pairs.longest()
    if limit is not None and length + 1 > limit:
        raise UserError(
            f"model.learned_positions {limit} is less than the {length + 1} tokens of the {split} pair from corpus line "
            f"{pairs.line(worst)}: raise it"
        )


class Feed:
    """The updates of a run, in order, from any of them on."""

    def __init__(
        self,
        pairs: Pairs,
        config: schema.Training,
        device: torch.device,
        processes: Processes,
        vocabularies: Vocabularies | None = None,
    ) -> None:
        """`vocabularies` are those of the pairs; only BPE-dropout has use for them."""
        self._pairs, self._config, self._device, self._processes = pairs, config, device, processes
        worst, length = pairs.longest()
        if length + 1 > config.micro_batch_tokens:
            raise UserError(
                f"training.micro_batch_tokens {config.micro_batch_tokens} is less than the {length + 1} tokens of the "
                f"pair from corpus line {pairs.line(worst)}: raise it, or prepare with a lower cleaning.max_tokens"
            )
        self._samplers: tuple[Sampler, Sampler] | None = None
        if config.bpe_dropout:
            assert vocabularies is not None
            source, target = (Sampler(one, config.bpe_dropout) for one in (vocabularies.source, vocabularies.target))
            self._samplers = source, target

    def plan(self, epoch: int, window: int = 0) -> EpochPlan:
        """The plan of window `window` of epoch `epoch` (both from 0). A small corpus has one window."""
        numbers, of_pairs = self._numbers(epoch, window), self._lengths(epoch, window)
        budget = self._config.micro_batch_tokens
        source, target = (planned(lengths + 1, self._config.bpe_dropout, budget) for lengths in of_pairs)
        if self._pairs.weights is not None:
            copies = _copies(self._pairs.weights.at(numbers), self._config.seed, epoch, window)
            numbers, source, target = numbers.repeat(copies), source.repeat(copies), target.repeat(copies)
        return plan_epoch(
            source,
            target,
            micro_batch_tokens=budget,
            update_tokens=self._config.update_tokens,
            seed=self._config.seed,
            epoch=epoch,
            window=window,
        ).over(numbers)

    def _windows(self, epoch: int) -> list[NDArray[np.int64]]:
        weights = self._pairs.weights
        total = 0.0 if weights is None else weights.total
        return epoch_windows(len(self._pairs), seed=self._config.seed, epoch=epoch, weight=total)

    def _blocks(self, epoch: int, window: int) -> list[tuple[int, int]]:
        """First pair and the one after the last of each block of a window."""
        blocks = self._windows(epoch)[window].tolist()
        return [(block * NEIGHBOURS, min((block + 1) * NEIGHBOURS, len(self._pairs))) for block in blocks]

    def _numbers(self, epoch: int, window: int) -> NDArray[np.int64]:
        return np.concatenate([np.arange(*block) for block in self._blocks(epoch, window)])

    def _lengths(self, epoch: int, window: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        source, target = zip(*(self._pairs.lengths(*block) for block in self._blocks(epoch, window)), strict=True)
        return np.concatenate(source), np.concatenate(target)

    def updates(self, first: int) -> Generator[Update]:
        """Update number `first` (from 1) and all that follow, without end; a thread makes them two ahead."""
        ready: queue.Queue[Update | BaseException] = queue.Queue(maxsize=2)
        stop = threading.Event()

        def put(item: Update | BaseException) -> bool:
            while not stop.is_set():
                try:
                    ready.put(item, timeout=0.1)
                    return True
                except queue.Full:
                    continue
            return False

        def work() -> None:
            try:
                for update in self._made(first):
                    if not put(update):
                        return
            except BaseException as error:  # noqa: BLE001 - raised again where the update is asked for
                put(error)

        thread = threading.Thread(target=work, name="feed", daemon=True)
        thread.start()
        try:
            while True:
                begin = time.perf_counter()
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                yield Update(
                    item.number,
                    item.epoch,
                    item.closes_epoch,
                    item.target_tokens,
                    tuple(MicroBatch(m.seed, m.batch.to(self._device), m.weight) for m in item.micro_batches),
                    time.perf_counter() - begin,
                )
        finally:
            stop.set()
            thread.join()

    def _made(self, first: int) -> Iterator[Update]:
        number, epoch = 1, 0
        while True:
            begin = number
            windows = len(self._windows(epoch))
            for window in range(windows):
                plan = self.plan(epoch, window)
                for index in range(max(0, first - number), len(plan.updates)):
                    closes = window == windows - 1 and index == len(plan.updates) - 1
                    yield self._update(number + index, epoch, closes, plan.micro_batches(index))
                number += len(plan.updates)
            if number == begin:
                raise UserError("the weights of data.train leave an epoch without a pair: raise them")
            epoch += 1

    def _update(self, number: int, epoch: int, closes_epoch: bool, micro_batches: list[NDArray[np.int64]]) -> Update:
        sampled = [self._sampled(chosen, number, place) for place, chosen in enumerate(micro_batches)]
        own = []
        for begin in range(0, len(micro_batches), self._processes.count):
            place = begin + self._processes.rank
            real = place < len(micro_batches)
            taken = place if real else 0
            batch = collate(*(sampled[taken] or self._pairs.gather(micro_batches[taken])))
            if self._device.type == "cuda":
                batch = batch.pinned()
            own.append(MicroBatch(mixed(self._config.seed, number, place), batch, 1.0 if real else 0.0))
        tokens = 0
        for chosen, sentences in zip(micro_batches, sampled, strict=True):
            of_targets = sum(map(len, sentences[1])) if sentences else self._pairs.target_tokens(chosen)
            tokens += of_targets + len(chosen)
        return Update(number, epoch, closes_epoch, tokens, tuple(own), 0.0)

    def _sampled(self, chosen: NDArray[np.int64], number: int, place: int) -> "_Sides | None":
        """The sentences of a micro-batch in other pieces, none so long that it exceeds its budget; None without dropout."""
        if self._samplers is None:
            return None
        longest = self._config.micro_batch_tokens // len(chosen) - 1
        sides = zip(self._samplers, self._pairs.gather(chosen), strict=True)
        source, target = (
            sampler.sample(sentences, longest, self._config.seed, number, place, side)
            for side, (sampler, sentences) in enumerate(sides)
        )
        return source, target


_Sides = tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]


def _copies(weights: NDArray[np.float64], seed: int, epoch: int, window: int) -> NDArray[np.int64]:
    """How often each pair is in a window: the whole part of its weight, and once more as likely as the rest of it."""
    whole = np.floor(weights)
    more = np.random.default_rng([seed, epoch, window, 1]).random(len(weights)) < weights - whole
    return (whole + more).astype(np.int64)
