"""`mtkit train` as a user meets it: what it refuses, how it goes on, and several devices (R3, R5, R10, R16, R17, X5)."""

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
FEW = ("training.updates=2", "training.validation.bleu=false", "training.checkpoints.interval=1")

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def settings(*options: str) -> list[str]:
    return [part for option in options for part in ("--set", option)]


@pytest.fixture
def home(toy_corpus: Path, toy_data: Path, tmp_path: Path) -> Path:
    """A folder with `toy.yaml` and `data/toy`."""
    shutil.copy(toy_corpus / "toy.yaml", tmp_path)
    shutil.copytree(toy_data, tmp_path / "data" / "toy")
    return tmp_path


@pytest.fixture
def start(mtkit: Call, home: Path) -> Call:
    """start(*arguments): `mtkit train --config toy.yaml` for two updates, in `home`."""

    def call(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return mtkit(home, "train", "--config", "toy.yaml", "--device", "cpu", *settings(*FEW), *arguments)

    return call


def refusal(done: "subprocess.CompletedProcess[str]") -> str:
    """The message of a user error, which is all that is said."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("Error") == 1
    return done.stderr.removeprefix("Error: ").removesuffix("\n")


def test_the_folders_are_named_by_the_config(start: Call, home: Path) -> None:
    done = start()
    assert (done.returncode, done.stdout) == (0, "")
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("cpu x 1 | ")
    assert last == "trained 2 updates; the model is in runs/toy"
    assert [found.state.step for found in Run(home / "runs" / "toy").checkpoints()] == [1, 2]
    assert Run(home / "runs" / "toy").config().data.folder == str(home / "data" / "toy"), "wherever one looks from"
    shutil.move(home / "data" / "toy", home / "elsewhere")
    done = start("--data", "elsewhere", "--run", "mine")
    assert done.returncode == 0, done.stderr
    assert Run(home / "mine").config().data.folder == str(home / "elsewhere")
    assert json.loads((home / "mine" / "provenance.json").read_text())["command"][:2] == ["mtkit", "train"]


def test_a_run_is_neither_overwritten_nor_begun_by_resuming(start: Call, home: Path) -> None:
    assert refusal(start("--resume")) == f"{home}/runs/toy: no run to resume: leave --resume out to begin one"
    assert not (home / "runs").exists()
    assert start().returncode == 0
    before = {path: path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file()}
    told = "runs/toy: there is a run in it: go on with it by --resume, or take another folder with --run"
    assert refusal(start()) == told
    assert {path: path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file()} == before


def test_a_folder_of_something_else_is_not_touched(start: Call, home: Path) -> None:
    told = "data: is not empty and holds no run: take another folder with --run"
    assert refusal(start("--run", "data")) == told
    assert [path.name for path in (home / "data").iterdir()] == ["toy"]
    assert "toy.yaml" in refusal(start("--run", "toy.yaml"))
    assert "toy.yaml" in refusal(start("--run", "toy.yaml/run"))
    (home / "empty").mkdir()
    assert start("--run", "empty").returncode == 0


def test_more_updates_go_on_and_another_model_does_not(start: Call, home: Path) -> None:
    assert start().returncode == 0
    done = start("--resume", *settings("model.d_model=64"))
    assert refusal(done) == "cannot resume with other settings:\nmodel.d_model: the run has 32, now 64"
    done = start("--resume", *settings("training.updates=3"))
    assert done.returncode == 0, done.stderr
    assert "resumed runs/toy/checkpoints/step-00000002 at update 2" in done.stderr
    assert done.stderr.splitlines()[-1] == "trained 3 updates; the model is in runs/toy"
    assert [found.state.step for found in Run(home / "runs" / "toy").checkpoints()] == [1, 2, 3]


def test_init_from_begins_with_the_weights_of_another_run(start: Call, home: Path, toy_run: Path) -> None:
    still = settings("training.schedule.peak=1e-30")  # so small a step that it is none
    done = start("--init-from", str(toy_run / "checkpoints" / "step-00000040"), *still)
    assert done.returncode == 0, done.stderr
    weights = Run(home / "runs" / "toy").checkpoints()[0].model_tensors()
    (other,) = [found for found in Run(toy_run).checkpoints() if found.state.step == 40]
    assert all(torch.equal(weights[name], tensor) for name, tensor in other.model_tensors().items())
    done = start("--run", "deep", "--init-from", str(toy_run), *settings("model.d_ff=65"))
    told = f"cannot begin with the weights of another model: model.d_ff: {toy_run} has 64, now 65"
    assert refusal(done).replace("\n", " ") == told
    done = start("--run", "deep", "--init-from", str(toy_run), *settings("model.heads=2", "model.dropout=0.3"))
    assert refusal(done).endswith(f"model.heads: {toy_run} has 4, now 2"), "the shapes alone would not tell"
    assert refusal(start("--run", "deep", "--init-from", "none")).startswith(f"{home}/none: not a run folder")
    assert not (home / "deep").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("more", [[], ["--devices", "2"]])
def test_a_gpu_that_is_not_there_is_refused(start: Call, home: Path, more: list[str]) -> None:
    told = refusal(start("--device", "cuda", *more))
    assert re.fullmatch(r"cuda not available: 0 visible \(.*\): use --device cpu", told)
    assert not (home / "runs").exists()


def test_data_that_are_not_there_are_refused(start: Call, home: Path) -> None:
    for arguments, name in ((["--data", "none"], "none"), (["--data", "none", "--devices", "2"], "none")):
        told = f"{name}: not a prepared data folder (no report.json in it): run mtkit prepare --config ... first"
        assert refusal(start(*arguments)) == told
    (home / "data" / "toy" / "train.source.bin").write_bytes(b"")
    assert refusal(start()).startswith("data/toy/train.source.bin: damaged (0 bytes, not ")
    assert not (home / "runs").exists()


def test_a_pair_that_fits_no_micro_batch_is_refused_before_the_first_update(start: Call, home: Path) -> None:
    told = refusal(start(*settings("training.micro_batch_tokens=4")))
    assert re.fullmatch(
        r"training\.micro_batch_tokens 4 is less than the 5 tokens of the pair from corpus line \d+: "
        r"raise it, or prepare with a lower cleaning\.max_tokens",
        told,
    )
    assert not (home / "runs").exists()


def launched(home: Path, *arguments: str) -> "subprocess.Popen[str]":
    """`mtkit train` in a process group of its own, as a shell starts it."""
    command = [sys.executable, "-m", "mtkit", "train", "--config", "toy.yaml", "--device", "cpu", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=home, env=environment, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
    )


def test_one_process_tells_of_a_users_mistake_and_the_job_ends(start: Call, home: Path) -> None:
    """Only the first process finds the folder locked; the other one loses it in the middle of a collective."""
    assert start().returncode == 0
    run = Run(home / "runs" / "toy")
    with run.lock():
        process = launched(home, "--devices", "2", "--resume", *settings(*FEW))
        _, told = process.communicate(timeout=100)
    assert told == "Error: runs/toy: another mtkit is writing to it: wait for it or take another --run\n"
    assert process.returncode == 2


FAILING = """
import os

if os.environ.get("RANK") == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    from mtkit.training.optimization import Optimization

    real, done = Optimization.step, 0

    def step(*arguments):
        global done
        done += 1
        if done == 3:
            if "KILLED" in os.environ:
                os.kill(os.getpid(), 9)
            raise ValueError("process 1 has a fault")
        return real(*arguments)

    Optimization.step = step
"""
"""A `sitecustomize` that makes the third update of process 1 fail, the first time."""


def test_a_fault_of_one_process_is_told_once_and_a_restart_goes_on(home: Path, tmp_path: Path) -> None:
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "sitecustomize.py").write_text(FAILING)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--max-restarts", "1"]
    training = ["mtkit", "train", "--config", "toy.yaml", "--device", "cpu", *settings(*FEW, "training.updates=4")]
    done = subprocess.run(
        [sys.executable, *torchrun, "-m", "--", *training],
        cwd=home,
        env=os.environ | {"PYTHONPATH": f"{tmp_path / 'faulty'}{os.pathsep}{ROOT}"},
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^Error: ", done.stderr, flags=re.MULTILINE)) == 1
    assert "Error: internal failure: ValueError: process 1 has a fault\n" in done.stderr
    assert "resumed runs/toy/checkpoints/step-00000002 at update 2\n" in done.stderr
    assert done.stderr.splitlines()[-1] == "trained 4 updates; the model is in runs/toy"
    assert [found.state.step for found in Run(home / "runs" / "toy").checkpoints()] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_killed_process_is_told_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "sitecustomize.py").write_text(FAILING)
    monkeypatch.setenv("KILLED", "yes")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'faulty'}{os.pathsep}{ROOT}")
    command = [sys.executable, "-m", "mtkit", "train", "--config", "toy.yaml", "--device", "cpu", "--devices", "2"]
    done = subprocess.run(command, cwd=home, capture_output=True, encoding="utf-8", timeout=200, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "Error: internal failure: RuntimeError: process 1 was ended by signal 9: out of memory, perhaps",
        "run again with --debug for the traceback",
    ]
    assert len(re.findall(r"^Error: ", done.stderr, flags=re.MULTILINE)) == 1


def test_two_devices_share_a_run_and_stop_together(start: Call, home: Path) -> None:
    """Ctrl-C reaches the launcher, which passes it on."""
    endless = settings("training.updates=1000000", "training.log_interval=1", "training.validation.interval=1000000")
    process = launched(home, "--devices", "2", "--run", "runs/toy", *endless)
    assert process.stderr is not None
    told = []
    with process.stderr:
        for line in process.stderr:
            told.append(line)
            if line.startswith("update 3/"):
                os.killpg(process.pid, signal.SIGINT)
    code = process.wait()
    said = "".join(told)
    assert "cpu x 2 | " in said
    stop = re.search(r"stopped by a signal at update (\d+); go on with --resume", said)
    assert stop, said
    assert code == 0
    assert said.splitlines()[-1] == stop[0]
    assert "Traceback" not in said
    assert "Warning" not in said
    run = Run(home / "runs" / "toy")
    newest = run.latest()
    assert newest is not None
    assert newest.state.step == int(stop[1]) >= 3
    done = start("--resume", *settings(f"training.updates={newest.state.step + 1}", "training.validation.interval=1000000"))
    assert done.returncode == 0, done.stderr
    assert run.checkpoints()[-1].state.step == newest.state.step + 1
