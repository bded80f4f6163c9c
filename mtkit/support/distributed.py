"""The processes that share a run, as torchrun started them; a single process without it.

Comes in: torchrun's environment variables. Goes out: who this process is, and the few collectives that mtkit uses.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
import torch.distributed as dist

from mtkit.support.job import PeerLostError

LOST_PEER = re.compile(r"gloo|NCCL|Connection (closed|reset|refused)|Broken pipe", re.IGNORECASE)
"""How torch's collectives say that another process has gone."""


LOOKS = 0.02, 1.0
"""Seconds between two looks whether the others have come, at first and at most."""

MEETINGS = count()
"""Numbers them, alike in all processes."""


@dataclass(frozen=True)
class Processes:
    """This process among the `count` that share the work. `rank` 0 is the one that writes and speaks."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0
    store: Any = None  # torch's Store: what they have in common besides the collectives; None if there is but one

    @property
    def leads(self) -> bool:
        """Whether this is the one process that writes to disk and to the screen."""
        return self.rank == 0

    def sum(self, values: list[float], device: torch.device) -> list[float]:
        """Element-wise sums over all processes, in float64 where the device has it."""
        if self.count == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(tensor)
        summed: list[float] = tensor.tolist()
        return summed

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether `flag` is set in any process."""
        return self.sum([float(flag)], device)[0] > 0.0

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value)
        return values

    def meet(self) -> None:
        """Returns once all processes are here, however long that takes.

        For after work that may take one of them much longer than another: a collective would give up after some minutes.
        """
        if self.store is None:
            return
        name, pause = f"meeting {next(MEETINGS)}", LOOKS[0]
        if self.store.add(name, 1) == self.count:
            self.store.set(f"{name} is complete", "")
        while not self.store.check([f"{name} is complete"]):
            time.sleep(pause)
            pause = min(2 * pause, LOOKS[1])

    def wait(self) -> None:
        """Returns once all processes are here."""
        if self.count > 1:
            dist.barrier()


@contextmanager
def processes(device_type: str) -> Iterator[Processes]:
    """Joins the processes that torchrun started (nccl between GPUs, gloo between CPUs); leaves them at the end.

    PeerLostError if a collective fails because another process has gone.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Processes()
        return
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if device_type == "cuda":
        torch.cuda.set_device(local_rank)  # nccl's collectives run on the current device
    store, rank, _ = next(dist.rendezvous("env://"))  # type: ignore[attr-defined]
    if os.environ.get("GROUP_WORLD_SIZE") == "1":  # each machine counts its own restarts
        # The launcher's store still holds the addresses of the processes that died before a restart.
        store = dist.PrefixStore(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)  # type: ignore[attr-defined]
    dist.init_process_group("nccl" if device_type == "cuda" else "gloo", store=store, rank=rank, world_size=size)
    try:
        yield Processes(rank, size, local_rank, store)
    except RuntimeError as error:
        if LOST_PEER.search(str(error)):
            raise PeerLostError(f"another process of the job has gone ({error})") from error
        raise
    dist.destroy_process_group()  # not after a failure: leaving together means waiting for the others
