"""The sum law and the hardware law (R2, R3): how processes share the micro-batches of an update does not change the run."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import Run
from mtkit.config.loader import load_config
from mtkit.data.preparation import prepare

# Without dropout, as processes draw their masks alike anyway and rounding is what is looked at; with an epsilon that keeps
# Adam from blowing up the rounding of gradients that are zero.
CONFIG = """\
data:
  train: {source: SOURCE, target: TARGET}
  validation: {source: SOURCE, target: TARGET}
cleaning: {drop_copies: false, max_ratio: 100.0}
vocabulary: {size: 400, soft_limit: true}
model: {d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.0}
training:
  updates: 5
  micro_batch_tokens: 50
  log_interval: 1
  schedule: {kind: constant, peak: 0.01, warmup: 1}
  optimizer: {epsilon: 0.001}
  validation: {interval: 5, max_lines: 7}
  checkpoints: {interval: 5}
decoding: {max_length_constant: 3, beam_size: 2}
"""

SHARED = """
import torch
config, data, *rest = arguments
for run, tokens in zip(rest[::2], rest[1::2]):
    settings = load_config(config, [f"training.update_tokens={tokens}"])
    trainer = Trainer(settings, PreparedData.open(data), torch.device("cpu"), group)
    with trainer.open(Path(run), resume=False) as opened:
        trainer.run(opened)
"""

Train = Callable[..., Run]
Forked = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of very unequal lengths, its config and, in `data`, its prepared form."""
    folder = tmp_path_factory.mktemp("unequal")
    draw = random.Random(1)
    lengths = [draw.choice((1, 1, 2, 3, 9, 30)) for _ in range(60)]
    lines = [" ".join(draw.choice(["bako", "timu", "lera", "nosi"]) for _ in range(length)) for length in lengths]
    for name in ("source", "target"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        lines = [line[::-1] for line in lines]
    config = CONFIG.replace("SOURCE", str(folder / "source")).replace("TARGET", str(folder / "target"))
    (folder / "config.yaml").write_text(config)
    prepare(load_config(str(folder / "config.yaml")), folder / "data")
    return folder


FAILING = """
from mtkit.support.errors import UserError
from mtkit.training.optimization import Optimization
real, done = Optimization.step, 0

def step(*rest):
    global done
    done += 1
    if done == 3 and group.rank == 1:
        raise UserError("the second process has had enough")
    return real(*rest)

Optimization.step = step
"""

FOUR, THREE = 200, 150
"""Tokens of an update: four and three micro-batches."""


@pytest.fixture(scope="module")
def alone(train: Train, folder: Path) -> dict[int, Run]:
    """What one process makes of it."""
    made = {}
    for tokens in (FOUR, THREE):
        options = [f"training.update_tokens={tokens}"]
        made[tokens] = train(folder / "config.yaml", options, folder / "data", folder / f"alone-{tokens}")
    return made


def metrics(run: Run) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text("utf-8").splitlines()]


def check_same(run: Run, expected: Run) -> None:
    """Same losses and weights, to rounding, which grows from update to update."""
    assert metrics(run)[0]["loss"] == pytest.approx(metrics(expected)[0]["loss"], rel=1e-6)
    for ours, theirs in zip(metrics(run), metrics(expected), strict=True):
        assert ours.keys() == theirs.keys()
        for name in ours.keys() - {"seconds", "data_wait_seconds", "signature", "validation_bleu", "samples"}:
            assert ours[name] == pytest.approx(theirs[name], rel=1e-4), (name, ours["update"])
    weights, others = (made.checkpoints()[-1].model_tensors() for made in (run, expected))
    assert all(torch.allclose(weights[name], others[name], rtol=0, atol=1e-5) for name in others)


def test_the_work_of_one_process_is_unequal(folder: Path, alone: dict[int, Run]) -> None:
    tokens = [record["target_tokens"] for record in metrics(alone[FOUR]) if "target_tokens" in record]
    assert max(tokens) > 1.2 * min(tokens)  # or a mean of means would pass for the mean
    first, last = metrics(alone[FOUR])[0]["loss"], metrics(alone[FOUR])[-2]["loss"]
    assert last < first - 0.1  # or weights that never move would be equal


def test_two_processes(forked: Forked, folder: Path, alone: dict[int, Run], tmp_path: Path) -> None:
    """Also with three micro-batches an update, where one process has a stand-in."""
    runs = [(tmp_path / str(tokens), tokens) for tokens in (FOUR, THREE)]
    done = forked(2, SHARED, folder / "config.yaml", folder / "data", *(part for pair in runs for part in pair))
    assert done.returncode == 0, done.stderr
    for path, tokens in runs:
        check_same(Run(path), alone[tokens])
    assert done.stderr.count("trained 5 updates") == 2
    assert "cpu x 2 |" in done.stderr


@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_many_processes(forked: Forked, folder: Path, alone: dict[int, Run], tmp_path: Path, count: int) -> None:
    """Of eight, four have a stand-in at every update."""
    done = forked(count, SHARED, folder / "config.yaml", folder / "data", tmp_path / "many", FOUR)
    assert done.returncode == 0, done.stderr
    check_same(Run(tmp_path / "many"), alone[FOUR])
    idle = "WARNING: 4 of 8 processes have nothing to do: an update has 4 micro-batches"
    assert (idle in done.stderr) == (count == 8)


def test_a_failure_of_one_process_ends_all(forked: Forked, folder: Path, tmp_path: Path) -> None:
    """Without an end to the other process, it would wait for half an hour."""
    done = forked(2, FAILING + SHARED, folder / "config.yaml", folder / "data", tmp_path / "run", FOUR)
    assert done.returncode == 1
    assert done.stderr.count("UserError: the second process has had enough") == 1
    assert "update 2/5" in done.stderr
    assert "update 4/5" not in done.stderr
