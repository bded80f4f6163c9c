"""Taking up a run: which folders hold one, which options may change, and what is recorded of it (R5)."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from mtkit.checkpoint import Run
from mtkit.config.catalogue import catalogue
from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.support.errors import UserError
from mtkit.training.resumption import check_same_run, holds_run, record_changes


def made(folder: Path, names: Iterable[str]) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("names", [(), (".lock",), (".lock", "vocabulary.model", "provenance.json", ".tmp-config.yaml-1")])
@pytest.mark.parametrize("resume", [False, True])
def test_where_a_run_may_begin(tmp_path: Path, names: tuple[str, ...], resume: bool) -> None:
    assert holds_run(made(tmp_path / "run", names), resume=resume) is False
    assert holds_run(tmp_path / "none", resume=False) is False


def test_where_a_run_goes_on(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", (".lock", "config.yaml", "vocabulary.model"))
    assert holds_run(folder, resume=True) is True
    with pytest.raises(UserError, match="there is a run in it: go on with it by --resume"):
        holds_run(folder, resume=False)


@pytest.mark.parametrize("names", [("text",), ("vocabulary.model",), (".lock", "checkpoints"), (".lock", "metrics.jsonl")])
@pytest.mark.parametrize("resume", [False, True])
def test_what_is_something_else_is_not_touched(tmp_path: Path, names: tuple[str, ...], resume: bool) -> None:
    with pytest.raises(UserError, match=r"/run: is not empty and holds no run: take another folder with --run$"):
        holds_run(made(tmp_path / "run", names), resume=resume)


@pytest.mark.parametrize("kind", ["paper", "inverse_square_root", "constant", "linear", "cosine"])
def test_a_curve_that_ends_with_the_run_is_told_to_change(tmp_path: Path, kind: str) -> None:
    old = override_config(Config(), [f"training.schedule.kind={kind}"])
    run = Run(made(tmp_path / "run", ()))
    run.describe(old, {})
    told = record_changes(run, override_config(old, ["training.updates=200000"]), 50)
    assert told[0] == "training.updates: 100000 -> 200000"
    curve = f"training.updates is also where the {kind} schedule ends: its curve changes"
    assert told[1:] == ([curve] if kind in ("linear", "cosine") else [])  # update 51 is one of the warm-up
    assert run.config().training.updates == 200_000


@pytest.mark.parametrize(
    "free",
    [
        "training.updates=7",
        "training.threads=2",
        "training.log_interval=7",
        "training.validation.interval=7",
        "training.checkpoints.keep_last=7",
        "training.schedule.peak=0.7",
        "training.schedule.factor=7.0",
        "data.folder=elsewhere",
        "decoding.beam_size=7",
        "evaluation.lowercase=true",
    ],
)
def test_what_may_change(free: str) -> None:
    check_same_run(Config(), override_config(Config(), [free]))


FIXED = {
    "training.update_tokens=7000": "training.update_tokens: the run has 25000, now 7000",
    "training.micro_batch_tokens=7": "training.micro_batch_tokens: the run has 3125, now 7",
    "training.seed=7": "training.seed: the run has 1, now 7",
    "training.precision=bfloat16": "training.precision: the run has float32, now bfloat16",
    "training.schedule.warmup=7": "training.schedule.warmup: the run has 4000, now 7",
    "training.optimizer.clip_norm=7.0": "training.optimizer.clip_norm: the run has 0.0, now 7.0",
    "training.label_smoothing=0.7": "training.label_smoothing: the run has 0.1, now 0.7",
    "model.dropout=0.7": "model.dropout: the run has 0.1, now 0.7",
}


@pytest.mark.parametrize("change", FIXED)
def test_what_would_make_it_another_run(change: str) -> None:
    with pytest.raises(UserError) as caught:
        check_same_run(Config(), override_config(Config(), [change]))
    assert str(caught.value) == f"cannot resume with other settings:\n{FIXED[change]}"


def test_all_changes_are_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        check_same_run(Config(), override_config(Config(), list(FIXED)))
    assert sorted(str(caught.value).splitlines()[1:]) == sorted(FIXED.values())


def test_every_option_is_either_free_or_fixed() -> None:
    """A new section outside `model` and `training` has to be thought of: resuming must not ignore it by chance."""
    sections = {path[0] for path in catalogue() if path}
    assert sections == {"data", "cleaning", "vocabulary", "model", "training", "decoding", "evaluation"}
