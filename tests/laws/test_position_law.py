"""The position law (R5, R10): k updates, a stop and the rest are the run that was never stopped, bit for bit."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import Run

ROOT = Path(__file__).parents[2]
TIMINGS = {"seconds", "data_wait_seconds"}

Train = Callable[..., Run]


def options(**changed: object) -> list[str]:
    """Twelve updates with dropout, a checkpoint at 5 (within the first epoch), and nothing else that falls on 5."""
    chosen: dict[str, object] = {
        "updates": 12,
        "log_interval": 3,
        "validation.interval": 4,
        "validation.bleu": "false",
        "checkpoints.interval": 5,
        **changed,
    }
    return [f"training.{name}={value}" for name, value in chosen.items()] + ["model.dropout=0.2"]


def content(run: Run) -> dict[str, torch.Tensor]:
    """Weights and moments of the newest checkpoint."""
    newest = run.latest()
    assert newest is not None
    return newest.model_tensors() | newest.optimizer_tensors()


def same(left: Run, right: Run) -> bool:
    first, second = content(left), content(right)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def metrics(run: Run) -> list[dict[str, object]]:
    records = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [{name: value for name, value in record.items() if name not in TIMINGS} for record in records]


@pytest.fixture(scope="module")
def config(toy_corpus: Path) -> Path:
    return toy_corpus / "toy.yaml"


@pytest.fixture(scope="module")
def straight(train: Train, config: Path, toy_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Never stopped."""
    return train(config, options(), toy_data, tmp_path_factory.mktemp("straight") / "run")


@pytest.mark.parametrize(
    "changed",
    [
        {"optimizer.average": 0.9},
        {"optimizer.kind": "schedule_free", "schedule.kind": "constant"},
        {"precision": "float16"},
        {"precision": "bfloat16", "optimizer.clip_norm": 0.5},
        {"rdrop": 5.0},
    ],
    ids=lambda changed: "-".join(map(str, changed.values())),
)
def test_every_way_of_training_goes_on_as_if_never_stopped(
    train: Train, config: Path, toy_data: Path, tmp_path: Path, changed: dict[str, object]
) -> None:
    chosen = options(**changed)
    straight = train(config, chosen, toy_data, tmp_path / "straight")
    shutil.copytree(straight.folder, tmp_path / "killed")
    for step in (10, 12):
        shutil.rmtree(tmp_path / "killed" / "checkpoints" / f"step-{step:08d}")
    resumed = train(config, chosen, toy_data, tmp_path / "killed", resume=True)
    assert same(resumed, straight)
    assert metrics(resumed) == metrics(straight)


def test_killed_after_a_checkpoint_and_resumed(
    train: Train, config: Path, toy_data: Path, straight: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "killed"
    shutil.copytree(straight.folder, folder)
    shutil.rmtree(folder / "checkpoints" / "step-00000010")
    shutil.rmtree(folder / "checkpoints" / "step-00000012")
    with (folder / "metrics.jsonl").open("a") as stream:
        stream.write('{"update": 13, "lo')
    resumed = train(config, options(), toy_data, folder, resume=True)
    assert f"resumed {folder}/checkpoints/step-00000005 at update 5" in capsys.readouterr().err
    assert same(resumed, straight)
    assert metrics(resumed) == metrics(straight)
    assert [(record["update"], record["epoch"]) for record in metrics(straight) if "epoch" in record] == [
        (3, 0),
        (5, 0),
        (6, 0),
        (9, 1),
        (10, 1),
        (12, 1),
    ]


def test_ended_and_continued_with_more_updates(
    train: Train, config: Path, toy_data: Path, straight: Run, tmp_path: Path
) -> None:
    for updates in (7, 9, 12):
        run = train(config, options(updates=updates), toy_data, tmp_path / "run", resume=updates > 7)
    assert same(run, straight)


def test_looking_at_the_model_does_not_change_it(
    train: Train, config: Path, toy_data: Path, straight: Run, tmp_path: Path
) -> None:
    often = {"validation.interval": 3, "validation.bleu": "true", "checkpoints.interval": 4, "log_interval": 1}
    watched = train(config, options(**often), toy_data, tmp_path / "watched")
    assert same(watched, straight)
    losses = [
        [r["validation_loss"] for r in metrics(run) if r["update"] == 12 and "validation_loss" in r]
        for run in (watched, straight)
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 1


@pytest.mark.parametrize("change", ["training.seed=2", "model.dropout=0.1"])
def test_another_config_is_another_run(
    train: Train, config: Path, toy_data: Path, straight: Run, tmp_path: Path, change: str
) -> None:
    other = train(config, [*options(), change], toy_data, tmp_path / "other")
    assert not same(other, straight)
    assert metrics(other) != metrics(straight)


def test_stopped_by_a_signal_and_resumed(train: Train, config: Path, toy_data: Path, tmp_path: Path) -> None:
    endless = options(updates=1_000_000, log_interval=1, **{"validation.interval": 1_000_000})
    settings = [part for option in endless for part in ("--set", option)]
    command = [sys.executable, "-m", "mtkit", "train", "--config", str(config), "--data", str(toy_data), "--run", "run"]
    process = subprocess.Popen(
        [*command, "--device", "cpu", *settings],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stderr is not None
    with process.stderr:
        told = []
        for line in process.stderr:
            told.append(line)
            if line.startswith("update 6/"):
                process.send_signal(signal.SIGTERM)
    assert process.wait() == 0, told
    stop = re.fullmatch(r"stopped by a signal at update (\d+); go on with --resume\n", told[-1])
    assert stop, told
    updates = int(stop[1]) + 3
    few = options(updates=updates, **{"validation.interval": 1_000_000})
    run = Run(tmp_path / "run")
    newest = run.latest()
    assert newest is not None
    assert newest.state.step == int(stop[1]) >= 6
    assert not list(run.checkpoint_folder.glob(".tmp-*"))
    resumed = train(config, few, toy_data, run.folder, resume=True)
    assert same(resumed, train(config, few, toy_data, tmp_path / "straight"))
