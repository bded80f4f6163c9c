"""Processes that share a run: who they are, and what they tell each other."""

import json
import subprocess
from collections.abc import Callable

import pytest
import torch

from mtkit.support.distributed import Processes, processes


def test_a_single_process_needs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with processes("cpu") as group:
        assert group == Processes(rank=0, count=1, local_rank=0)
        assert group.leads
        assert group.sum([1.5, 2.5], torch.device("cpu")) == [1.5, 2.5]
        assert group.any(True, torch.device("cpu"))
        assert not group.any(False, torch.device("cpu"))
        assert group.gather({"a": 1}) == [{"a": 1}]
        group.wait()
    assert not torch.distributed.is_initialized()


def test_three_processes_agree(forked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    body = """
import json
cpu = torch.device("cpu")
told = {
    "who": [group.rank, group.count, group.local_rank, group.leads],
    "sum": group.sum([1.0 + group.rank, 2.0**40 + group.rank], cpu),
    "any": [group.any(group.rank == 2, cpu), group.any(False, cpu)],
    "gather": group.gather("x" * group.rank),
}
Path(f"{group.rank}.json").write_text(json.dumps(told))
group.wait()
if group.leads:
    print(json.dumps([json.loads(Path(f"{rank}.json").read_text()) for rank in range(3)]))
"""
    done = forked(3, body)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [each["who"] for each in told] == [[0, 3, 0, True], [1, 3, 1, False], [2, 3, 2, False]]
    for each in told:
        assert each["sum"] == [6.0, 3 * 2.0**40 + 3]  # more digits than float32 has
        assert each["any"] == [True, False]
        assert each["gather"] == ["", "x", "xx"]


def test_some_may_come_much_later_than_collectives_wait(forked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    body = """
import time
from datetime import timedelta
torch.distributed.distributed_c10d._set_pg_timeout(timedelta(seconds=1), torch.distributed.group.WORLD)
for late in (0, 1):
    if group.rank == late:
        time.sleep(3)
    group.meet()
    assert group.sum([1.0], torch.device("cpu")) == [2.0]
try:
    if group.leads:
        time.sleep(3)
    else:
        group.sum([1.0], torch.device("cpu"))
except RuntimeError as error:
    print("without meeting:", "imed out" in str(error))
"""
    done = forked(2, body)
    assert "without meeting: True" in done.stdout, done.stderr
