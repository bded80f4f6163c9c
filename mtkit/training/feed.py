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

from mtkit.config import schema
from mtkit.data.batching import Batch, EpochPlan, collate, plan_epoch
from mtkit.data.binarized import Pairs
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError


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
    longest = np.maximum(pairs.source_lengths, pairs.target_lengths) + 1
    if limit is not None and longest.max() > limit:
        worst = int(longest.argmax())
        raise UserError(
            f"model.learned_positions {limit} is less than the {longest[worst]} tokens of the {split} pair from corpus line "
            f"{pairs.line(worst)}: raise it"
        )


def mixed(*numbers: int) -> int:
    """A seed that depends on all of `numbers`, well spread."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


class Feed:
    """The updates of a run, in order, from any of them on."""

    def __init__(self, pairs: Pairs, config: schema.Training, device: torch.device, processes: Processes) -> None:
        self._pairs, self._config, self._device, self._processes = pairs, config, device, processes
        self._source_lengths, self._target_lengths = pairs.source_lengths + 1, pairs.target_lengths + 1
        longest = np.maximum(self._source_lengths, self._target_lengths)
        if longest.max() > config.micro_batch_tokens:
            worst = int(longest.argmax())
            raise UserError(
                f"training.micro_batch_tokens {config.micro_batch_tokens} is less than the {longest[worst]} tokens of the "
                f"pair from corpus line {pairs.line(worst)}: raise it, or prepare with a lower cleaning.max_tokens"
            )

    def plan(self, epoch: int) -> EpochPlan:
        """The plan of epoch `epoch` (from 0)."""
        return plan_epoch(
            self._source_lengths,
            self._target_lengths,
            micro_batch_tokens=self._config.micro_batch_tokens,
            update_tokens=self._config.update_tokens,
            seed=self._config.seed,
            epoch=epoch,
        )

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
            plan = self.plan(epoch)
            for index in range(max(0, first - number), len(plan.updates)):
                closes = index == len(plan.updates) - 1
                yield self._update(number + index, epoch, closes, plan.micro_batches(index))
            number, epoch = number + len(plan.updates), epoch + 1

    def _update(self, number: int, epoch: int, closes_epoch: bool, micro_batches: list[np.ndarray]) -> Update:
        own = []
        for begin in range(0, len(micro_batches), self._processes.count):
            place = begin + self._processes.rank
            real = place < len(micro_batches)
            chosen = micro_batches[place if real else 0]
            batch = collate(*self._pairs.gather(chosen))
            if self._device.type == "cuda":
                batch = batch.pinned()
            own.append(MicroBatch(mixed(self._config.seed, number, place), batch, 1.0 if real else 0.0))
        tokens = sum(int(self._target_lengths[chosen].sum()) for chosen in micro_batches)
        return Update(number, epoch, closes_epoch, tokens, tuple(own), 0.0)
