"""What users get wrong: exit code 2, one `Error: ` that names the place and the value, and no output left behind."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(toy_corpus: Path, toy_run: Path, tmp_path: Path) -> Path:
    """The raw text, `toy.yaml`, `data/toy` and `runs/toy`."""
    shutil.copytree(toy_corpus, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def refusal(mtkit: Call, home: Path) -> Callable[..., str]:
    """refusal(*arguments): the message; everything else about it is as it should be."""

    def call(*arguments: str) -> str:
        before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
        done = mtkit(home, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()} == before
        assert "Traceback" not in done.stderr
        assert len(re.findall(r"^Error: ", done.stderr, flags=re.MULTILINE)) == 1
        return done.stderr.rpartition("Error: ")[2].removesuffix("\n")

    return call


PREPARE = ("prepare", "--config", "toy.yaml", "--output", "new")


def test_a_file_that_is_not_there(refusal: Callable[..., str], home: Path) -> None:
    (home / "train.de").unlink()
    assert refusal(*PREPARE) == f"{home}/train.de: no such file"
    assert refusal("prepare", "--config", "none.yaml").startswith(f"{home}/none.yaml: no such file")
    assert refusal("train", "--config", "none.yaml").startswith(f"{home}/none.yaml: no such file")
    assert refusal("translate", "--input", "none.txt") == f"{home}/none.txt: no such file"
    assert not (home / "new").exists()


def test_line_counts_that_differ(refusal: Callable[..., str], home: Path) -> None:
    with (home / "validation.de").open("a") as stream:
        stream.write("one line more")
    assert refusal(*PREPARE).startswith("line counts differ: validation.en 40 lines, validation.de 41 lines")
    assert not (home / "new").exists()


def test_bytes_that_are_not_utf8(refusal: Callable[..., str], home: Path) -> None:
    lines = (home / "train.de").read_bytes().split(b"\n")
    lines[711] = b"saba Caf\xe9 bako"
    (home / "train.de").write_bytes(b"\n".join(lines))
    assert refusal(*PREPARE).startswith("train.de:712: invalid UTF-8 (byte 0xE9 at column 9)")
    assert not (home / "new").exists()


def test_a_vocabulary_larger_than_the_text_allows(refusal: Callable[..., str], home: Path) -> None:
    told = refusal(*PREPARE, "--set", "vocabulary.size=37000", "--set", "vocabulary.soft_limit=false")
    assert re.search(r"37000.* \d{3}\b", told)
    assert "vocabulary.size" in told
    assert "vocabulary.soft_limit" in told
    assert not (home / "new").exists()


@pytest.mark.parametrize("command", ["prepare", "train"])
def test_options_that_are_none(refusal: Callable[..., str], home: Path, command: str) -> None:
    text = (home / "toy.yaml").read_text().replace("  updates: 60", "  updats: 60\n  log_interval: many")
    (home / "wrong.yaml").write_text(text.replace("  log_interval: 10\n", ""))
    line = text.splitlines().index("  updats: 60") + 1
    assert refusal(command, "--config", "wrong.yaml").splitlines() == [
        "wrong.yaml: 2 mistakes",
        f"wrong.yaml:{line}: training.updats: unknown option (did you mean 'updates'?)",
        f"wrong.yaml:{line + 1}: training.log_interval: must be a whole number of at least 1, found 'many'",
    ]
    told = refusal(command, "--config", "toy.yaml", "--set", "training.updats=3")
    assert told == "--set training.updats=3: unknown option (did you mean 'updates'?)"


def test_folders_that_are_taken(refusal: Callable[..., str]) -> None:
    told = "data/toy: already there and not empty: give --overwrite to replace it, or another --output"
    assert refusal("prepare", "--config", "toy.yaml") == told
    told = "runs/toy: there is a run in it: go on with it by --resume, or take another folder with --run"
    assert refusal("train", "--config", "toy.yaml", "--device", "cpu") == told
    told = "runs/toy: exists already: delete it, or name another folder with --output"
    assert refusal("average", "runs/toy", "--output", "runs/toy") == told


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    "arguments", [("train", "--config", "toy.yaml", "--run", "new"), ("translate", "--input", "test.en"), ("evaluate",)]
)
def test_a_gpu_that_is_not_there(refusal: Callable[..., str], arguments: tuple[str, ...]) -> None:
    told = refusal(*arguments, "--device", "cuda")
    assert re.fullmatch(r"cuda not available: 0 visible \(.+\): use --device cpu", told)


def test_a_config_cannot_run_code(refusal: Callable[..., str], home: Path) -> None:
    (home / "evil.yaml").write_text('training:\n  updates: !!python/object/apply:os.system ["touch pwned"]\n')
    assert refusal("train", "--config", "evil.yaml").startswith("evil.yaml:2: ")
    assert not (home / "pwned").exists()
