"""`mtkit prepare` as a user meets it: streams, exit codes, default folder, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONFIG = """
data:
  train: {source: train.en, target: train.de}
  validation: {source: train.en, target: train.de}
vocabulary: {size: 1000, soft_limit: true}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.yaml").write_text(CONFIG)
    (tmp_path / "train.en").write_bytes(b"a house \xf0\x9f\x99\x82\nthe caf\xc3\xa9\n\n")
    (tmp_path / "train.de").write_bytes(b"ein Haus \xf0\x9f\x99\x82\ndas Caf\xc3\xa9\nleer\n")
    return tmp_path


def mtkit(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"PYTHONPATH": str(ROOT), "HF_HOME": str(folder / "cache"), **environment}
    command = [sys.executable, "-m", "mtkit", *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, encoding="utf-8", timeout=100, check=False
    )


def test_it_prepares_and_says_what_and_where_and_what_next(folder: Path) -> None:
    done = mtkit(folder, "prepare", "--config", "toy.yaml", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "train: read 3, kept 2, dropped 1 (empty_source 1); unknown tokens 0.00%" in done.stderr
    assert "WARNING: train: 33.3% of the pairs dropped" in done.stderr
    assert "lines/s" in done.stderr
    assert done.stderr.splitlines()[-1] == "prepared data lies in data/toy; next: mtkit train --config toy.yaml"
    assert (folder / "data" / "toy" / "train.de").read_bytes() == b"ein Haus \xf0\x9f\x99\x82\ndas Caf\xc3\xa9\n"


def test_output_overwrite_workers_and_set(folder: Path) -> None:
    first = mtkit(folder, "prepare", "--config", "toy.yaml", "--output", "out", "--set", "cleaning.drop_copies=false")
    assert first.returncode == 0, first.stderr
    assert "next: mtkit train --config toy.yaml --data out" in first.stderr
    before = (folder / "out" / "report.json").read_bytes()
    again = mtkit(folder, "prepare", "--config", "toy.yaml", "--output", "out")
    assert again.returncode == 2
    assert again.stderr == "Error: out: already there and not empty: give --overwrite to replace it, or another --output\n"
    assert (folder / "out" / "report.json").read_bytes() == before
    many = b"".join(b"line %d of many\n" % number for number in range(10_001))  # more than one process has work to do
    (folder / "train.en").write_bytes(many)
    (folder / "train.de").write_bytes(many.replace(b"line", b"Zeile"))
    third = mtkit(folder, "prepare", "--config", "toy.yaml", "--output", "out", "--overwrite", "--workers", "2")
    assert third.returncode == 0, third.stderr
    assert "train: read 10001, kept 10001, dropped 0" in third.stderr


def test_mistakes_are_one_line_and_leave_nothing(folder: Path) -> None:
    (folder / "train.de").write_bytes(b"ein Haus\n")
    before = set(folder.iterdir())
    done = mtkit(folder, "prepare", "--config", "toy.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: line counts differ: train.en 3 lines, train.de 1 lines\n"
    (folder / "train.de").write_bytes(b"ein Haus\nCaf\xe9\nleer\n")
    done = mtkit(folder, "prepare", "--config", "toy.yaml", "--output", "new/out", LC_ALL="C")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: train.de:2: invalid UTF-8 (byte 0xE9 at column 4)")
    assert "Traceback" not in done.stderr
    assert {path for path in folder.iterdir() if not list(path.glob(".tmp*"))} - before <= {folder / "data", folder / "new"}
    assert not (folder / "new" / "out").exists()


def test_without_a_network_it_ends_at_once_and_says_how_to_go_on(folder: Path) -> None:
    (folder / "hub.yaml").write_text("data: {hub: wmt/wmt14, hub_config: de-en}\n")
    done = mtkit(folder, "prepare", "--config", "hub.yaml", HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: hub data set wmt/wmt14 de-en can neither be reached at https://huggingface.co nor")
    assert "--set data.train.source=FILE" in last
    assert not (folder / "data").exists()
