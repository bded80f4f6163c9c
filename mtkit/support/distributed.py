"""The processes that share a run, as torchrun started them; a single process without it.

Comes in: torchrun's environment variables. Goes out: who this process is, and the few collectives that mtkit uses.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Processes:
    """This process among the `count` that share the work. `rank` 0 is the one that writes and speaks."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0

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

    def wait(self) -> None:
        """Returns once all processes are here."""
        if self.count > 1:
            dist.barrier()


@contextmanager
def processes(device_type: str) -> Iterator[Processes]:
    """Joins the processes that torchrun started (nccl between GPUs, gloo between CPUs); leaves them at the end."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if device_type == "cuda":
        torch.cuda.set_device(local_rank)  # nccl's collectives run on the current device
    dist.init_process_group("nccl" if device_type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), count, local_rank)
    finally:
        dist.destroy_process_group()
