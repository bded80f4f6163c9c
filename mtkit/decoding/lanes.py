"""Batches searched side by side: on a CPU two threads do more with a batch each than together with one.

Much of a step of decoding is small: its operations are over before a second thread has woken. Comes in: a search, batches
of requests. Goes out: what the search answers, in order. Knows no model and no text. Each lane has its share of torch's
threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 4
"""Lanes, however many threads torch has: Python runs in one of them at a time."""

WORTHWHILE = 64
"""Rows of a lane's batch, at least: with fewer, all that a lane does is to read the weights."""

AMPLE = 256
"""Rows of a lane's batch from which on more are no faster, and only take memory."""


def lane_count() -> int:
    """As many as torch has threads, but no more than `MOST`."""
    return min(torch.get_num_threads(), MOST)


class Lanes:
    """Threads that search, each with its share of torch's."""

    def __init__(self, *, alone: bool = False) -> None:
        """alone: whether there is one lane only, in the thread that asks."""
        self.count = 1 if alone else lane_count()
        self._threads = torch.get_num_threads() // self.count  # of a lane

    def share(self, batches: Sequence[Sequence[Item]], rows: int) -> list[list[Item]]:
        """The same batches; those that no other lane has one beside and large ones are dealt out among the lanes.

        rows: of each item.
        """
        whole = len(batches) - len(batches) % self.count
        shared = []
        for place, batch in enumerate(batches):
            least = WORTHWHILE if place >= whole else AMPLE
            lanes = max(1, min(self.count, len(batch) * rows // least))
            shared += [list(batch[lane::lanes]) for lane in range(lanes)]
        return shared

    def search(self, search: Callable[[Item], Answer], batches: Sequence[Item]) -> list[Answer]:
        """The answer to each batch."""
        if self.count == 1 or len(batches) == 1:
            return [search(batch) for batch in batches]
        before = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(self.count, "lane", torch.set_num_threads, (self._threads,)) as lanes:
                try:
                    return list(lanes.map(search, batches))
                except BaseException:
                    lanes.shutdown(wait=False, cancel_futures=True)
                    raise
        finally:
            torch.set_num_threads(before)  # what threads to come begin with
