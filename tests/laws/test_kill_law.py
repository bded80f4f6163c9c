"""A run that is killed at any moment, again and again, and resumed is the run that was never disturbed (laws 1, 10; R6)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import Run

UPDATES = 12

LIVES = """
import json, random, signal, time
import torch._dynamo  # the optimizer does it, which takes seconds, and now it is done once

config, data, root, kills, updates = arguments
root, kills, draw = Path(root), int(kills), random.Random(5)
often = [f"updates={updates}", "checkpoints.interval=1", "validation.interval=4", "validation.bleu=false", "log_interval=3"]
settings = load_config(config, [f"training.{option}" for option in often] + [f"data.folder={data}"])

def start(folder):
    pid = os.fork()
    if pid:
        return pid
    try:
        sys.stderr = (root / "told").open("a")
        trainer = Trainer(settings, PreparedData.open(data), torch.device("cpu"), group)
        with trainer.open(folder, resume=folder.is_dir()) as run:
            trainer.run(run)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)
    os._exit(0)

def runs(pid):
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

def moment(folder, pid):
    '''Waits for a moment to kill: some time after the start, within the next save, or soon after it.'''
    checkpoints = folder / "checkpoints"
    kind = draw.choice(("early", "saving", "between"))
    before = set(checkpoints.glob("*"))
    limit = time.monotonic() + (draw.uniform(0.0, 0.5) if kind == "early" else 60.0)
    pattern = {"early": "never", "saving": ".tmp-step-*", "between": "step-*"}[kind]
    while runs(pid) and time.monotonic() < limit and not set(checkpoints.glob(pattern)) - before:
        time.sleep(0.0002)
    time.sleep(draw.uniform(0.0, {"early": 0.0, "saving": 0.003, "between": 0.02}[kind]))

def finished(pid):
    '''Whether the process has ended by itself; else it is killed now.'''
    os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status == 0

root.mkdir()
assert os.waitpid(start(root / "straight"), 0)[1] == 0
counts = {"kills": 0, "while saving": 0, "runs": 0}
while counts["kills"] < kills:
    counts["runs"] += 1
    folder = root / f"run-{counts['runs']}"
    while counts["kills"] < kills:
        pid = start(folder)
        moment(folder, pid)
        if finished(pid):
            break
        counts["kills"] += 1
        counts["while saving"] += any(folder.glob("checkpoints/.tmp-*"))
    assert os.waitpid(start(folder), 0)[1] == 0
print(json.dumps(counts))
"""


def content(run: Run) -> dict[str, torch.Tensor]:
    newest = run.latest()
    assert newest is not None
    assert newest.state.step == UPDATES
    return newest.model_tensors() | newest.optimizer_tensors()


def metrics(run: Run) -> list[dict[str, object]]:
    timings = {"seconds", "data_wait_seconds"}
    records = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [{name: value for name, value in record.items() if name not in timings} for record in records]


@pytest.mark.parametrize("kills", [8, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_killed_at_random_moments_and_resumed(
    kills: int,
    forked: Callable[..., "subprocess.CompletedProcess[str]"],
    toy_corpus: Path,
    toy_data: Path,
    tmp_path: Path,
) -> None:
    done = forked(1, LIVES, toy_corpus / "toy.yaml", toy_data, tmp_path / "lives", kills, UPDATES)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    print(counts)
    assert counts["kills"] == kills
    assert counts["while saving"] >= kills // 10
    straight = Run(tmp_path / "lives" / "straight")
    for number in range(1, counts["runs"] + 1):
        run = Run(tmp_path / "lives" / f"run-{number}")
        assert not list(run.folder.rglob(".tmp-*"))
        assert metrics(run) == metrics(straight)
        left, right = content(run), content(straight)
        assert left.keys() == right.keys()
        assert all(torch.equal(left[name], right[name]) for name in left)
