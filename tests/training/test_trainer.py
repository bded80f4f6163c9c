"""The training loop around the laws: non-finite gradients, signals, messages, what may be resumed (R1, R5, R6, R10, R13)."""

import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mtkit.checkpoint import Run, load_model
from mtkit.config.loader import load_config
from mtkit.data.batching import Batch
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare
from mtkit.data.shortlist import SHORTLIST
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.support.files import sha256
from mtkit.training import trainer
from mtkit.training.loss import TranslationLoss
from mtkit.training.optimization import Optimization
from mtkit.training.trainer import Trainer
from mtkit.training.validation import Findings, Validator

Short = Callable[..., Run]


@pytest.fixture
def short(train: Callable[..., Run], toy_corpus: Path, toy_data: Path) -> Short:
    """short(run folder, *overrides, data=..., resume=False): four updates of one micro-batch, a checkpoint after each."""

    def call(folder: Path, *overrides: str, data: Path = toy_data, resume: bool = False) -> Run:
        few = ("updates=4", "micro_batch_tokens=600", "log_interval=1", "checkpoints.interval=1", "validation.interval=1000")
        options = [*(f"training.{option}" for option in (*few, "validation.bleu=false")), *overrides]
        return train(toy_corpus / "toy.yaml", options, data, folder, resume=resume)

    return call


def content(run: Run, step: int) -> dict[str, Tensor]:
    """Weights and moments after update `step`."""
    (found,) = [checkpoint for checkpoint in run.checkpoints() if checkpoint.state.step == step]
    tensors = found.model_tensors() | found.optimizer_tensors()
    return {name: tensor.clone() for name, tensor in tensors.items()}  # what was loaded is the file itself, mapped


def equal(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def break_updates(monkeypatch: pytest.MonkeyPatch, is_broken: Callable[[int], bool], gradient: float = math.inf) -> None:
    """Makes the loss of some updates infinite, with a gradient that is multiplied by `gradient`."""
    seen = 0

    class Broken(TranslationLoss):
        def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
            nonlocal seen
            if self.training:
                seen += 1
            loss, likelihood = super().forward(batch)
            if self.training and is_broken(seen):
                return loss * gradient + math.inf, likelihood
            return loss, likelihood

    monkeypatch.setattr(trainer, "TranslationLoss", Broken)


def test_it_says_what_it_does(short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = short(tmp_path / "run", "training.validation.interval=2", "training.validation.bleu=true")
    first, *told = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"cpu x 1 \| 0\.0 M weights \| float32 \| update = 1 micro-batches of 600 tokens on each side \| "
        rf"{run.folder} will need up to \d\.\d MB",
        first,
    )
    assert [line.split(" | ")[0] for line in told if line.startswith(("update", "validation"))] == [
        "update 1/4",
        "update 2/4",
        "validation at update 2",
        "update 3/4",
        "update 4/4",
        "validation at update 4",
    ]
    assert told[-1] == f"trained 4 updates; the model is in {run.folder}"
    source, translation, reference = (
        re.match(r"  (\w+) +(.*)", line) for line in [line for line in told if line.startswith("  ")][:3]
    )
    assert source is not None
    assert translation is not None
    assert reference is not None
    assert (source[1], translation[1], reference[1]) == ("source", "translation", "reference")
    assert reference[2].split() == source[2].split()[::-1]
    scored = [
        found.state.step for found in run.checkpoints() if found.state.bleu is not None and found.state.loss is not None
    ]
    assert scored == [2, 4]
    assert json.loads((run.folder / "provenance.json").read_text())["seed"] == 1


def steps(run: Run) -> list[int]:
    return [found.state.step for found in run.checkpoints()]


@pytest.mark.parametrize("gradient", [math.inf, 1.0], ids=["gradient", "loss"])
def test_what_is_not_finite_skips_the_update_and_puts_the_checkpoint_off(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], gradient: float
) -> None:
    break_updates(monkeypatch, lambda number: number in (2, 3), gradient)
    run = short(tmp_path / "run", "training.updates=5", "training.validation.interval=2")
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "skipped" in line] == [
        f"WARNING: update {number} skipped: its loss or gradient is not finite (harmless if rare)" for number in (2, 3)
    ]
    assert steps(run) == [1, 4, 5]
    assert [found.state.step for found in run.ranked()] == [4, 5]
    assert [line.split(" | ")[0] for line in told if line.startswith("validation")] == [
        "validation at update 4",
        "validation at update 5",
    ]
    moments = [content(run, step)["embedding.weight/step"].item() for step in (1, 4, 5)]
    assert moments == [1.0, 2.0, 3.0], "a skipped update does not touch the moments"
    assert all(tensor.isfinite().all() for tensor in content(run, 5).values())


def test_a_signal_waits_for_an_update_that_is_applied(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_updates(monkeypatch, lambda number: number in (2, 3))
    signal_after(monkeypatch, 2, signal.SIGTERM)
    run = short(tmp_path / "run", "training.updates=10")
    assert capsys.readouterr().err.splitlines()[-1] == "stopped by a signal at update 4; go on with --resume"
    assert steps(run) == [1, 4]


def test_a_run_whose_last_updates_are_skipped_ends_with_the_model_before_them(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for resume in (False, True):  # the same again
        break_updates(monkeypatch, lambda number, resume=resume: number > (0 if resume else 2))  # type: ignore[misc]
        run = short(tmp_path / "run", "training.checkpoints.interval=1000", resume=resume)
        assert capsys.readouterr().err.splitlines()[-2:] == [
            "WARNING: no update after 2 was applied",
            f"trained 4 updates; the model is in {run.folder}",
        ]
        (found,) = run.checkpoints()
        assert (found.state.step, found.state.validated) == (2, True)
        assert content(run, 2)["embedding.weight/step"].item() == 2.0


def test_too_many_in_a_row_end_the_run_and_the_last_good_checkpoint_is_named(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_updates(monkeypatch, lambda number: number >= 2 and number != 10)
    with pytest.raises(RuntimeError) as caught:
        short(tmp_path / "run", "training.updates=1000", "training.checkpoints.interval=5")
    newest = Run(tmp_path / "run").latest()
    assert newest is not None
    assert newest.state.step == 10
    assert all(tensor.isfinite().all() for tensor in newest.model_tensors().values())
    assert str(caught.value) == (
        "the loss or gradient was not finite for 20 updates in a row, from update 11 to 30: try a lower learning rate or a "
        f"longer warm-up; the last good checkpoint is {newest.folder}"
    )


@pytest.mark.parametrize("updates", [4, 1000])
def test_a_run_that_never_learns_has_no_checkpoint(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, updates: int
) -> None:
    break_updates(monkeypatch, lambda number: True)
    with pytest.raises(RuntimeError, match=r"; there is no checkpoint$"):
        short(tmp_path / "run", f"training.updates={updates}")
    assert not Run(tmp_path / "run").checkpoints()


def test_weights_that_are_not_finite_are_not_saved(short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Optimization.step

    def explode(self: Optimization, number: int, rate: float) -> float:
        norm = real(self, number, rate)
        if number == 3:
            next(iter(self._named.values())).data[0] = math.inf
        return norm

    monkeypatch.setattr(Optimization, "step", explode)
    with pytest.raises(RuntimeError, match=r"^the weights after update 3 are not finite: .* checkpoint is .*00000002$"):
        short(tmp_path / "run")
    assert steps(Run(tmp_path / "run")) == [1, 2]


LOSS_OF_RANK_1 = """
import math
from mtkit.training import trainer
seen = 0

class Broken(trainer.TranslationLoss):
    def forward(self, batch):
        global seen
        seen += 1
        loss, likelihood = super().forward(batch)
        return loss + (math.inf if group.rank == 1 and seen in (3, 4) else 0.0), likelihood  # its gradient is finite

trainer.TranslationLoss = Broken
config, data, folder = arguments
small = ["updates=4", "update_tokens=600", "micro_batch_tokens=300", "checkpoints.interval=1", "validation.bleu=false"]
settings = load_config(config, [f"training.{option}" for option in small] + [f"data.folder={data}"])
made = Trainer(settings, PreparedData.open(data), torch.device("cpu"), group)
with made.open(Path(folder), resume=False) as run:
    made.run(run)
torch.save([weight.detach() for weight in made._model.parameters()], f"{group.rank}.pt")
"""


def test_a_loss_that_is_not_finite_on_one_process_skips_the_update_on_all(
    forked: Callable[..., "subprocess.CompletedProcess[str]"], toy_corpus: Path, toy_data: Path, tmp_path: Path
) -> None:
    done = forked(2, LOSS_OF_RANK_1, toy_corpus / "toy.yaml", toy_data, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "skipped" in line] == [
        f"WARNING: update {number} skipped: its loss or gradient is not finite (harmless if rare)" for number in (3, 4)
    ]
    assert steps(Run(tmp_path / "run")) == [1, 2]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert all(torch.equal(left, right) for left, right in zip(first, second, strict=True))


def signal_after(monkeypatch: pytest.MonkeyPatch, update: int, *numbers: int) -> None:
    """Sends this process signals within update `update`."""
    real, done = Optimization.step, 0

    def step(self: Optimization, number: int, rate: float) -> float:
        nonlocal done
        done += 1
        if done == update:
            for number in numbers:
                os.kill(os.getpid(), number)
        return real(self, number, rate)

    monkeypatch.setattr(Optimization, "step", step)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_the_update(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    before = signal.getsignal(number)
    signal_after(monkeypatch, 3, number)
    run = short(tmp_path / "run", "training.checkpoints.interval=1000", "training.validation.interval=1")
    told = capsys.readouterr().err.splitlines()
    assert "stopping after this update (once more to stop at once)" in told
    assert told[-1] == "stopped by a signal at update 3; go on with --resume"
    assert [found.state.step for found in run.checkpoints()] == [3]
    assert signal.getsignal(number) == before


def test_a_second_signal_ends_it_at_once(short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signal_after(monkeypatch, 3, signal.SIGTERM, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        short(tmp_path / "run")
    assert [found.state.step for found in Run(tmp_path / "run").checkpoints()] == [1, 2]


def validations(monkeypatch: pytest.MonkeyPatch, losses: list[float], *, alike: float = 0.0) -> None:
    """Lets validation find these losses, one after the other."""

    def find(self: object, model: object) -> Findings:
        return Findings(losses.pop(0), None, (), alike)

    monkeypatch.setattr(Validator, "__call__", find)


def test_the_best_is_that_of_the_whole_run(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    validations(monkeypatch, [5.0, 3.0, 4.0, 3.5, 3.2, 2.0])
    short(tmp_path / "run", "training.validation.interval=1")
    run = short(tmp_path / "run", "training.validation.interval=1", "training.updates=6", resume=True)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("validation at")]
    assert [line.endswith(" | best so far") for line in lines] == [True, True, False, False, False, True]
    best = run.best()
    assert best is not None
    assert best.state.step == 6


def test_the_best_checkpoint_is_kept(short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    validations(monkeypatch, [5.0, 3.0, 4.0, 4.0])
    keep = ("training.checkpoints.keep_last=1", "training.checkpoints.keep_best=1")
    run = short(tmp_path / "run", "training.validation.interval=1", *keep)
    assert [found.state.step for found in run.checkpoints()] == [2, 4]


@pytest.mark.parametrize(("alike", "warnings"), [(0.9, 0), (0.95, 1)])
def test_translations_that_are_all_alike_are_warned_of(
    short: Short,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    alike: float,
    warnings: int,
) -> None:
    validations(monkeypatch, [5.0], alike=alike)
    short(tmp_path / "run")
    told = capsys.readouterr().err
    assert told.count("WARNING: 95% of the translations are identical: the learning rate may be too high") == warnings
    assert told.count("WARNING") - told.count("WARNING: the training waits for data") == warnings


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_resumed(
    short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = short(tmp_path / "run")
    whole = content(run, 4)
    for step, name in ((4, "model.safetensors"), (3, "state.json")):
        file = run.checkpoint_folder / f"step-0000000{step}" / name
        file.write_bytes(file.read_bytes()[:-100])
    capsys.readouterr()
    short(tmp_path / "run", resume=True)
    told = [line for line in capsys.readouterr().err.splitlines() if "waits for data" not in line]  # the machine may be slow
    assert [line.split(": ")[1].removeprefix(f"{run.checkpoint_folder}/") for line in told if "WARNING" in line] == [
        "step-00000004/model.safetensors",
        "step-00000003/state.json",
    ]
    assert f"resumed {run.checkpoint_folder}/step-00000002 at update 2" in told
    assert equal(content(run, 4), whole)
    assert all(found.damage() is None for found in run.checkpoints())


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(
    short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = short(tmp_path / "run")
    whole = content(run, 4)
    shutil.rmtree(run.checkpoint_folder)
    capsys.readouterr()
    short(tmp_path / "run", resume=True)
    assert "has no complete checkpoint yet, beginning again" in capsys.readouterr().err
    assert equal(content(run, 4), whole)
    updates = [json.loads(line)["update"] for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert updates == [1, 2, 3, 4, 4]  # the last is its validation


def test_a_finished_run_can_be_resumed_and_stays_as_it_is(
    short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = short(tmp_path / "run")
    state = (run.checkpoint_folder / "step-00000004" / "state.json").stat()
    for updates in (4, 2):
        short(tmp_path / "run", f"training.updates={updates}", resume=True)
        assert capsys.readouterr().err.splitlines()[-1] == f"trained 4 updates; the model is in {run.folder}"
    assert (run.checkpoint_folder / "step-00000004" / "state.json").stat() == state


def test_other_settings_are_refused_with_both_values(short: Short, tmp_path: Path) -> None:
    short(tmp_path / "run")
    with pytest.raises(UserError) as caught:
        short(tmp_path / "run", "model.d_model=64", "training.optimizer.beta2=0.99", resume=True)
    assert str(caught.value).splitlines() == [
        "cannot resume with other settings:",
        "model.d_model: the run has 32, now 64",
        "training.optimizer.beta2: the run has 0.98, now 0.99",
    ]


def test_settings_that_may_change_are_told_applied_and_kept(
    short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    linear = ("training.schedule.kind=linear", "training.schedule.warmup=1")
    run = short(folder, *linear)
    capsys.readouterr()
    more = ("training.updates=8", "training.schedule.peak=0.004", "training.validation.interval=3")
    short(folder, *linear, *more, resume=True)
    told = capsys.readouterr().err.splitlines()
    assert told[1:5] == [
        "training.updates: 4 -> 8",
        "training.schedule.peak: 0.008 -> 0.004",
        "training.validation.interval: 1000 -> 3",
        "training.updates is also where the linear schedule ends: its curve changes; "
        "update 5 learns at 1.71e-03, not at 0.00e+00",
    ]
    assert "rate 1.71e-03" in next(line for line in told if line.startswith("update 5/8"))
    assert any(line.startswith("validation at update 6") for line in told)
    config = run.config().training
    assert (config.updates, config.schedule.peak, config.validation.interval) == (8, 0.004, 3)
    (change,) = run.provenance()["changes"]
    assert change["update"] == 4
    assert change["options"]["training.updates"] == ["4", "8"]
    assert run.provenance()["seed"] == 1
    capsys.readouterr()
    short(folder, *linear, *more, resume=True)
    assert "->" not in capsys.readouterr().err
    assert len(run.provenance()["changes"]) == 1


def test_a_refused_change_changes_nothing(short: Short, tmp_path: Path) -> None:
    run = short(tmp_path / "run")
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError):
        short(tmp_path / "run", "model.d_model=64", "training.updates=9", resume=True)
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_without_bleu_the_best_goes_on_by_loss(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    keep = ("training.validation.interval=2", "training.checkpoints.keep_last=9")
    run = short(folder, *keep, "training.validation.bleu=true")
    assert all(found.state.bleu is not None for found in run.ranked())
    capsys.readouterr()
    validations(monkeypatch, [0.1, 50.0])
    short(folder, *keep, "training.updates=8", resume=True)
    told = capsys.readouterr().err
    assert "training.validation.bleu: True -> False" in told
    assert "BLEU is not measured as it was: while checkpoints from before are kept, the lowest loss is the best" in told
    lines = [line for line in told.splitlines() if line.startswith("validation at")]
    assert [line.endswith(" | best so far") for line in lines] == [True, False]
    best = run.best()
    assert best is not None
    assert best.state.step == 6


@pytest.mark.parametrize("change", ["decoding.beam_size=1", "training.validation.max_lines=7", "evaluation.lowercase=true"])
def test_another_bleu_is_not_compared(short: Short, tmp_path: Path, change: str) -> None:
    scored = ("training.validation.interval=2", "training.validation.bleu=true")
    short(tmp_path / "run", *scored)
    run = short(tmp_path / "run", *scored, "training.updates=6", change, resume=True)
    losses = [found.state.loss for found in run.ranked()]
    assert len(losses) == 3
    assert losses == sorted(losses, key=lambda loss: -(loss or 0.0))
    assert len({found.state.measure for found in run.ranked()}) == 2


@pytest.mark.parametrize("left", [(), (".lock",), (".lock", "vocabulary.model", ".tmp-provenance.json-0123abcd")])
@pytest.mark.parametrize("resume", [False, True])
def test_a_start_that_failed_half_way_is_taken_up(
    short: Short, tmp_path: Path, capsys: pytest.CaptureFixture[str], left: tuple[str, ...], resume: bool
) -> None:
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).touch()
    run = short(tmp_path / "run", resume=resume)
    told = capsys.readouterr().err
    assert (f"{run.folder}: its start had failed before there was a run, beginning again" in told) == resume
    assert steps(run) == [1, 2, 3, 4]
    assert not list(run.folder.glob(".tmp-*"))


@pytest.fixture
def other_data(toy_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """other_data(*overrides): the toy corpus, prepared another way."""

    def call(*overrides: str) -> Path:
        monkeypatch.chdir(toy_corpus)
        prepare(load_config("toy.yaml", overrides), tmp_path / "other")
        return tmp_path / "other"

    return call


def test_other_text_is_refused(short: Short, tmp_path: Path, other_data: Callable[..., Path]) -> None:
    short(tmp_path / "run")
    data = other_data("cleaning.max_tokens=3")  # the vocabulary is the same
    with pytest.raises(UserError, match=rf"^{data}: its training text is not the one of {tmp_path}/run .*'pairs': 1000"):
        short(tmp_path / "run", data=data, resume=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints")  # beginning again is no other run either
    with pytest.raises(UserError, match=rf"^{data}: its training text is not the one of {tmp_path}/run "):
        short(tmp_path / "run", data=data, resume=True)


def test_another_validation_text_is_refused_with_both_fingerprints(short: Short, tmp_path: Path, toy_data: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(toy_data, data)
    run = short(tmp_path / "run", data=data)
    text = (data / "validation.de").read_text()
    before = run.provenance()["validation"]
    (data / "validation.de").write_text(text.replace("bako", "timu"))
    with pytest.raises(UserError) as caught:
        short(tmp_path / "run", data=data, resume=True)
    told = str(caught.value)
    assert told.startswith(f"{data}: its validation text is not the one of {run.folder} (the run has {before}, now {{")
    assert sha256(data / "validation.de") in told
    (data / "validation.de").write_text(text)
    (data / "test.de").write_text("other\n")  # no business of the training
    short(tmp_path / "run", data=data, resume=True)


def test_other_data_is_refused_before_there_is_a_checkpoint_too(
    short: Short, tmp_path: Path, other_data: Callable[..., Path]
) -> None:
    run = short(tmp_path / "run")
    shutil.rmtree(run.checkpoint_folder)
    began, data = run.vocabularies().fingerprint[:12], other_data("vocabulary.size=320")
    now = PreparedData.open(data).vocabularies().fingerprint[:12]
    told = rf"^vocabulary differs: {run.folder} began with {began}, {data} has {now}: resume with the data it began with"
    with pytest.raises(UserError, match=told):
        short(run.folder, data=data, resume=True)


SEPARATE = ("vocabulary.shared=false", "model.tied_embeddings=decoder")


def test_a_config_and_data_that_share_otherwise_are_refused(
    short: Short, tmp_path: Path, toy_data: Path, other_data: Callable[..., Path]
) -> None:
    data = other_data(*SEPARATE)
    told = rf"^{data}: was prepared with vocabulary\.shared=false, the config says true: set vocabulary\.shared=false, or "
    with pytest.raises(UserError, match=told):
        short(tmp_path / "run", "model.tied_embeddings=decoder", data=data)
    told = (
        rf"^{toy_data}: was prepared with vocabulary\.shared=true, the config says false: set vocabulary\.shared=true, or "
    )
    with pytest.raises(UserError, match=told):
        short(tmp_path / "run", *SEPARATE)
    assert not (tmp_path / "run").exists()


def test_another_vocabulary_is_refused(
    short: Short, tmp_path: Path, toy_run: Path, toy_corpus: Path, other_data: Callable[..., Path]
) -> None:
    short(tmp_path / "run")
    data = other_data("vocabulary.size=320")
    with pytest.raises(UserError, match=rf"^vocabulary differs: checkpoint {tmp_path}/run/.*, {data}/vocabulary.model has "):
        short(tmp_path / "run", data=data, resume=True)
    fresh = Trainer(load_config(str(toy_corpus / "toy.yaml")), PreparedData.open(data), torch.device("cpu"), Processes())
    with pytest.raises(UserError, match=r"^vocabulary differs: "):
        fresh.start_from(toy_run)


def test_learned_positions_too_few_for_the_data_are_refused_before_the_first_update(short: Short, tmp_path: Path) -> None:
    few = ("cleaning.max_tokens=2", "model.positions=learned", "model.learned_positions=3")
    with pytest.raises(
        UserError, match=r"learned_positions 3 is less than the \d+ tokens of the train pair from corpus line"
    ):
        short(tmp_path / "run", *few)
    assert not (tmp_path / "run").exists()


def test_a_run_has_the_shortlist_of_its_data(short: Short, toy_corpus: Path, toy_data: Path, tmp_path: Path) -> None:
    with contextlib.chdir(toy_corpus):
        prepare(load_config("toy.yaml", ["vocabulary.shortlist=true"]), tmp_path / "data")
    run = short(tmp_path / "run", "training.updates=1", data=tmp_path / "data")
    assert (run.folder / SHORTLIST).read_bytes() == (tmp_path / "data" / SHORTLIST).read_bytes()
    resumed = short(tmp_path / "run", "training.updates=2", "decoding.shortlist=50", data=tmp_path / "data", resume=True)
    plain = short(tmp_path / "plain", "training.updates=2")
    assert equal(content(resumed, 2), content(plain, 2))
    assert not (plain.folder / SHORTLIST).exists()
    (tmp_path / "data").rename(tmp_path / "away")
    loaded = load_model(run.folder, torch.device("cpu"))
    assert loaded.vocabularies.shortlist().translations.any()


def test_a_shortlist_that_the_data_has_not_is_told_before_training(short: Short, toy_data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{toy_data / SHORTLIST}: no such file: .*vocabulary.shortlist=true"):
        short(tmp_path / "run", "decoding.shortlist=50")
    assert not (tmp_path / "run").exists()
