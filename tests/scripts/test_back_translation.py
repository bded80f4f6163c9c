"""scripts/back_translation.sh from monolingual text to a trained model, and once more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtkit.checkpoint import Run
from mtkit.data.folder import PreparedData

SCRIPT = Path(__file__).parents[2] / "scripts" / "back_translation.sh"


def back_translation(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The script in `folder`; its `mtkit` is this one."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "mtkit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mtkit "$@"\n')
    (folder / "bin" / "mtkit").chmod(0o755)
    settings = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(SCRIPT.parents[1]), "WEIGHT": "0.5"}
    command = ["bash", str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=folder, env=os.environ | settings, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.slow
def test_translations_become_a_tagged_corpus_of_half_weight(toy_corpus: Path, toy_run: Path, tmp_path: Path) -> None:
    """The toy run puts words in reverse order, so it leads back as well as forth."""
    for path in toy_corpus.glob("*.??"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = (toy_corpus / "toy.yaml").read_text().replace("updates: 60", "updates: 2")
    (tmp_path / "toy.yaml").write_text(config)
    (tmp_path / "news, of today.de").write_text("bako timu lera\n\ntimu nosi pufa\n")
    arguments = (str(toy_run), "news, of today.de", "toy.yaml", "toy_bt")
    done = back_translation(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    report = PreparedData.open(tmp_path / "data" / "toy_bt").report
    assert [(part.pairs, part.kept, part.weight, part.tag) for part in report.splits["train"].parts] == [
        (1000, 1000, 1.0, ""),
        (3, 2, 0.5, "<bt>"),
    ]
    assert Run(tmp_path / "runs" / "toy_bt").checkpoints()[-1].state.step == 2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*")}
    again = back_translation(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "data").rglob("*")} == before, "nothing is done twice"


def test_corpora_of_the_config_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text("data: {train: {source: a, target: b, more: [{tsv: c}]}}\n")
    done = back_translation(tmp_path, "runs/x", "mono.de", "toy.yaml", "name")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: toy.yaml: its data.train.more would be replaced")
    assert not (tmp_path / "data").exists()
