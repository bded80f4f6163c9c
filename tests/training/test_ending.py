"""Trainings that end early: by epochs, by patience, by the clock; and that resuming changes nothing about it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import METRICS, Run
from mtkit.metrics import read_metrics
from mtkit.training.ending import has_lost_patience
from mtkit.training.validation import Findings, Validator

Train = Callable[..., Run]
OPTIONS = ("micro_batch_tokens=600", "log_interval=1", "validation.bleu=false", "validation.interval=1")


@pytest.fixture
def short(train: Train, toy_corpus: Path, toy_data: Path) -> Train:
    """short(run folder, *options of training, resume=False): about nine updates an epoch, a validation after each."""

    def call(folder: Path, *options: str, resume: bool = False) -> Run:
        chosen = [f"training.{option}" for option in (*OPTIONS, "updates=1000", "checkpoints.interval=1000", *options)]
        return train(toy_corpus / "toy.yaml", chosen, toy_data, folder, resume=resume)

    return call


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What validations find, one after the other; the last one for ever. A test fills it."""
    found: list[float] = []

    def find(self: object, model: object) -> Findings:
        return Findings(found.pop(0) if len(found) > 1 else found[0], None, (), 0.0)

    monkeypatch.setattr(Validator, "__call__", find)
    return found


def steps(run: Run) -> list[int]:
    return [found.state.step for found in run.checkpoints()]


def epochs(run: Run) -> list[int]:
    """How many updates each epoch has had."""
    numbers = [line.count(f'"epoch": {epoch},') for line in [(run.folder / METRICS).read_text()] for epoch in range(5)]
    return [number for number in numbers if number]


def test_after_so_many_epochs(short: Train, losses: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses[:] = [1.0]
    run = short(tmp_path / "run", "epochs=2")
    first, second = epochs(run)
    assert first > 5
    assert steps(run) == [first + second]
    assert read_metrics(run.folder / METRICS).validations[-1].update == first + second, "validated at its end"
    assert f"trained {first + second} updates" in capsys.readouterr().err
    assert steps(short(run.folder, "epochs=2", resume=True)) == [first + second], "and stays as it is"
    assert len(epochs(short(run.folder, "epochs=3", resume=True))) == 3


def test_updates_come_before_epochs(short: Train, losses: list[float], tmp_path: Path) -> None:
    losses[:] = [1.0]
    assert steps(short(tmp_path / "run", "updates=3", "epochs=2")) == [3]


def test_when_validation_finds_no_new_best(
    short: Train, losses: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    losses[:] = [3.0, 2.0, 2.5, 1.9, 1.9]  # and 1.9 for ever, which is no better
    run = short(tmp_path / "run", "validation.patience=3")
    assert steps(run) == [7]
    assert "no new best in 3 validations: the training ends" in capsys.readouterr().err
    assert read_metrics(run.folder / METRICS).ended == "no new best in 3 validations"


@pytest.mark.parametrize("killed_after", [2, 4])
def test_patience_survives_a_stop(short: Train, losses: list[float], tmp_path: Path, killed_after: int) -> None:
    losses[:] = sequence = [3.0, 2.0, 2.5, 2.6, 2.7, 2.8]
    straight = short(tmp_path / "straight", "validation.patience=3")
    assert steps(straight) == [5]
    losses[:] = sequence = [3.0, 2.0, 2.5, 2.6, 2.7, 2.8]
    short(tmp_path / "run", "validation.patience=3", f"updates={killed_after}")
    losses[:] = sequence[killed_after:]
    resumed = short(tmp_path / "run", "validation.patience=3", resume=True)
    assert steps(resumed)[-1] == 5
    assert read_metrics(resumed.folder / METRICS).ended
    ours, theirs = (run.checkpoints()[-1].model_tensors() for run in (resumed, straight))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert steps(short(tmp_path / "run", "validation.patience=3", resume=True))[-1] == 5, "it had ended"
    losses[:] = [2.9, 3.0, 3.1]
    assert steps(short(tmp_path / "run", "validation.patience=5", resume=True))[-1] == 7, "more patience goes on"


def test_no_patience_is_endless(tmp_path: Path) -> None:
    lines = [f'{{"update": {n}, "validation_loss": {n}.0}}\n' for n in range(1, 9)]
    (tmp_path / METRICS).write_text("".join(lines))
    assert not has_lost_patience(Run(tmp_path), 0)
    assert has_lost_patience(Run(tmp_path), 7)
    assert not has_lost_patience(Run(tmp_path), 8)


def test_after_so_many_hours_it_stops_as_by_a_signal(
    short: Train, losses: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    losses[:] = [1.0]
    run = short(tmp_path / "run", "hours=1e-9")
    assert steps(run) == [1]
    assert "stopped after 1e-09 hours at update 1; go on with --resume" in capsys.readouterr().err
    assert steps(short(run.folder, "updates=3", resume=True))[-1] == 3


def test_computing_layers_again_is_the_same_training(short: Train, losses: list[float], tmp_path: Path) -> None:
    losses[:] = [1.0]
    kept, again = short(tmp_path / "kept", "updates=3"), short(tmp_path / "again", "updates=3", "recompute=true")
    ours, theirs = (run.checkpoints()[-1].model_tensors() for run in (again, kept))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's compiler warns of torch's own doings
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_compiled_layers_are_the_same_training_to_rounding(short: Train, losses: list[float], tmp_path: Path) -> None:
    losses[:] = [1.0]
    damped = ("updates=3", "optimizer.epsilon=0.001")  # or Adam blows up the rounding of gradients that are zero
    plain, compiled = short(tmp_path / "plain", *damped), short(tmp_path / "compiled", *damped, "compile=true")
    ours, theirs = (run.checkpoints()[-1].model_tensors() for run in (compiled, plain))
    assert all(torch.allclose(ours[name], theirs[name], rtol=0, atol=1e-5) for name in theirs)
