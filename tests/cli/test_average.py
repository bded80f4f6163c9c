"""`mtkit average` as a user meets it; what it computes is in tests/training/test_averaging.py."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mtkit.checkpoint import Run, newest_run

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(toy_run: Path, tmp_path: Path) -> Path:
    """A folder with `runs/toy`."""
    shutil.copytree(toy_run, tmp_path / "runs" / "toy")
    return tmp_path


@pytest.fixture
def average(mtkit: Call, home: Path) -> Call:
    """average(*arguments) in `home`."""
    return lambda *arguments: mtkit(home, "average", *arguments)


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        ([], (20, 40, 60)),
        (["--last", "2"], (40, 60)),
        (["--best", "3"], (20, 40, 60)),
        (["--steps", "60, 20"], (20, 60)),
    ],
)
def test_the_average_lies_beside_the_run_and_is_the_newest(
    average: Call, home: Path, arguments: list[str], steps: tuple[int, ...]
) -> None:
    done = average("runs/toy", *arguments)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    told = f"averaged {len(steps)} checkpoints of runs/toy (steps {', '.join(map(str, steps))}) into "
    assert done.stderr == f"{told}{home}/runs/toy-average\n"
    (made,) = Run(home / "runs" / "toy-average").checkpoints()
    assert made.state.averaged == steps
    assert newest_run(home / "runs").name == "toy-average"


def test_it_translates_and_cannot_be_trained_further(average: Call, mtkit: Call, home: Path, toy_corpus: Path) -> None:
    assert average("runs/toy/", "--last", "2", "--output", "mine/mean").returncode == 0
    (home / "in").write_text("bako timu lera\n")
    done = mtkit(home, "translate", "--device", "cpu", "--model", "mine/mean", "--input", "in")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    config = ["--config", "mine/mean/config.yaml", "--data", str(toy_corpus / "data" / "toy"), "--device", "cpu"]
    done = mtkit(home, "train", *config, "--run", "mine/mean", "--resume", "--set", "training.updates=90")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "Error: mine/mean/checkpoints/step-00000060: has no optimizer.safetensors: "
        "training cannot go on from it (an average, perhaps)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs/toy", "--steps", "20,30"], "runs/toy: no checkpoint of step 30: there are 20, 40, 60"),
        (["runs/toy", "--steps", "20,x"], "'20,x' is not a list of steps such as 1000,2000."),
        (["runs/toy", "--last", "4"], "runs/toy: has 3 checkpoints (20, 40, 60), 4 were asked for"),
        (["runs/toy", "--last", "0"], "--last"),
        (["runs/toy", "--last", "2", "--best", "2"], "Give one of --last, --best and --steps."),
        (["runs/toy", "--output", "runs/toy"], "runs/toy: exists already: delete it, or name another folder with --output"),
        (["runs/toy", "--output", "file/mean"], "file/mean: cannot be written ("),
        (["runs"], "runs: not a run folder (no config.yaml in it)"),
        ([], "Missing argument 'RUN'."),
    ],
)
def test_mistakes_are_told_and_leave_nothing(average: Call, home: Path, arguments: list[str], message: str) -> None:
    (home / "file").touch()
    before = set(home.rglob("*"))
    done = average(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert set(home.rglob("*")) == before
