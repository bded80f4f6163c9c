"""Where the results go: a full disk, a place that is taken or linked, another process, a dead one (law 10, R6, X5)."""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtkit.checkpoint import Run
from mtkit.data import preparation
from mtkit.support.files import whole_folder

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(toy_corpus: Path, toy_run: Path, tmp_path: Path) -> Path:
    """The raw text, `toy.yaml`, `data/toy` and `runs/toy`."""
    shutil.copytree(toy_corpus, tmp_path, dirs_exist_ok=True)
    return tmp_path


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond `size` bytes: to whoever writes the same as a full disk, and needs no disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


TRAIN = ("train", "--config", "toy.yaml", "--device", "cpu", "--run")
SHORT = ("--set", "training.updates=2", "--set", "training.validation.bleu=false")
FULL = {
    ("prepare", "--config", "toy.yaml", "--output", "new"): (10_000, "new", " or give another --output"),
    ("average", "runs/toy", "--output", "new"): (50_000, "new", " or name another folder with --output"),
    ("export", "runs/toy", "--to", "ctranslate2", "--output", "new"): (
        50_000,
        "new",
        " or name another folder with --output",
    ),
    ("translate", "--device", "cpu", "--input", "train.en", "--output", "new", "--format", "jsonl"): (
        20_000,
        "new",
        ", or write to another place",
    ),
    (*TRAIN, "new", *SHORT): (
        50_000,
        "new/checkpoints/step-00000002",
        " and go on with --resume; the checkpoints before it are untouched",
    ),
}


@pytest.mark.parametrize("arguments", FULL, ids=lambda arguments: arguments[0])
def test_no_room_for_the_result(mtkit: Call, home: Path, arguments: tuple[str, ...]) -> None:
    size, path, cure = FULL[arguments]
    with largest_file(size):
        done = mtkit(home, *arguments)
    assert done.returncode == 2, done.stderr
    last = f"Error: {path}: cannot be written (File too large): allow larger files (ulimit -f){cure}"
    assert done.stderr.splitlines()[-1] == last
    assert "Traceback" not in done.stderr
    assert not list(home.rglob(".tmp-*"))
    if arguments[0] != "train":
        assert not (home / "new").exists()


def test_a_start_for_which_there_is_no_room_can_be_begun_again(mtkit: Call, home: Path) -> None:
    with largest_file(10_000):  # less than the vocabulary
        done = mtkit(home, *TRAIN, "new", *SHORT)
    told = "cannot be written (File too large): allow larger files (ulimit -f), or write to another place"
    assert (done.returncode, done.stderr) == (2, f"Error: new/vocabulary.model: {told}\n")
    again = mtkit(home, *TRAIN, "new", *SHORT)
    assert again.returncode == 0, again.stderr
    assert [found.state.step for found in Run(home / "new").checkpoints()] == [2]


def test_metrics_for_which_there_is_no_room(mtkit: Call, home: Path) -> None:
    shutil.copytree(home / "runs" / "toy", home / "runs" / "more")
    with (home / "runs" / "more" / "metrics.jsonl").open("a") as stream:
        stream.write("".join(f'{{"update": 1, "note": "{"x" * 1000}"}}\n' for _ in range(300)))
    size = (home / "runs" / "more" / "metrics.jsonl").stat().st_size
    with largest_file(size + 10):
        done = mtkit(home, *TRAIN, "runs/more", "--resume", "--set", "training.updates=61")
    assert done.returncode == 2, done.stderr
    told = "Error: runs/more/metrics.jsonl: cannot be written (File too large): allow larger files (ulimit -f)"
    assert done.stderr.splitlines()[-1].startswith(told)


def test_linked_outputs_are_followed(mtkit: Call, home: Path) -> None:
    (home / "disk" / "toy").mkdir(parents=True)
    (home / "disk" / "text").write_text("old")
    shutil.rmtree(home / "data" / "toy")
    for link, target in (("data/toy", "../disk/toy"), ("text", "disk/text"), ("runs/new", "../disk/run")):
        (home / link).symlink_to(target)
    (home / "disk" / "run").mkdir()
    for more in ([], ["--overwrite"]):
        assert mtkit(home, "prepare", "--config", "toy.yaml", *more).returncode == 0
    assert mtkit(home, "translate", "--device", "cpu", "--input", "test.en", "--output", "text").returncode == 0
    assert mtkit(home, *TRAIN, "runs/new", *SHORT).returncode == 0
    assert all((home / link).is_symlink() for link in ("data/toy", "text", "runs/new"))
    assert (home / "disk" / "toy" / "report.json").exists()
    assert len((home / "disk" / "text").read_text().splitlines()) == 40
    assert (home / "disk" / "run" / "checkpoints").is_dir()
    assert sorted(path.name for path in (home / "disk").iterdir()) == ["run", "text", "toy"]


def test_two_at_once_on_one_output(mtkit: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with whole_folder(home / "new"):
        done = mtkit(home, "prepare", "--config", "toy.yaml", "--output", "new")
        assert done.returncode == 2
        told = "Error: new: another mtkit is writing it: wait for it or give another --output"
        assert done.stderr.splitlines()[-1] == told
    real = preparation.learn_vocabularies  # type: ignore[attr-defined]

    def meanwhile(*arguments: object) -> object:
        (home / "late").mkdir()
        (home / "late" / "theirs").touch()
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "learn_vocabularies", meanwhile)
    done = mtkit(home, "prepare", "--config", "toy.yaml", "--output", "late")
    assert done.returncode == 2
    told = "Error: late: cannot be written (Directory not empty): clear the way or give another --output"
    assert done.stderr.splitlines()[-1] == told
    assert [path.name for path in (home / "late").iterdir()] == ["theirs"]


def test_what_killed_commands_left_goes_with_the_next(mtkit: Call, home: Path) -> None:
    for leftover in ("data/.tmp-toy-0123abcd", "runs/.tmp-toy-average-0123abcd", "runs/toy/.tmp-config.yaml-0123abcd"):
        (home / leftover).mkdir()
        (home / leftover / "half").touch()
    (home / ".tmp-text-0123abcd").touch()
    assert mtkit(home, "prepare", "--config", "toy.yaml", "--overwrite").returncode == 0
    assert mtkit(home, "translate", "--device", "cpu", "--input", "test.en", "--output", "text").returncode == 0
    assert mtkit(home, "average", "runs/toy").returncode == 0
    assert mtkit(home, *TRAIN, "runs/toy", "--resume").returncode == 0
    assert not list(home.rglob(".tmp-*"))
