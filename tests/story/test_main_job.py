"""From raw text to scored translations with four commands, as the README tells it; each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ENOUGH = """\
model: {d_model: 64, d_ff: 128, heads: 4, encoder_layers: 1, decoder_layers: 1, dropout: 0.05}
training:
  updates: 300
  update_tokens: 500
  micro_batch_tokens: 500
  label_smoothing: 0.0
  schedule: {kind: linear, peak: 0.005, warmup: 30}
  optimizer: {clip_norm: 1.0}
  validation: {interval: 150}
  checkpoints: {interval: 150}
"""
"""In place of the toy config's model and training: what learns to put three or four words in reverse order."""


@pytest.fixture
def home(toy_corpus: Path, tmp_path: Path) -> Path:
    """The raw text and `reverse.yaml`, nothing else."""
    for path in toy_corpus.glob("*.??"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    sections = (toy_corpus / "toy.yaml").read_text().partition("model:")[0]
    (tmp_path / "reverse.yaml").write_text(sections + ENOUGH)
    return tmp_path


def mtkit(home: Path, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "mtkit", *arguments],
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    return done


def test_prepare_train_translate_evaluate(home: Path) -> None:
    done = mtkit(home, "prepare", "--config", "reverse.yaml")
    assert "train: read 1000, kept 1000, dropped 0; unknown tokens 0.00%" in done.stderr
    assert done.stdout == ""

    done = mtkit(home, "train", "--config", "reverse.yaml", "--device", "cpu")
    assert done.stderr.splitlines()[-1] == "trained 300 updates; the model is in runs/reverse"
    assert done.stdout == ""

    source = (home / "test.en").read_text()
    reference = (home / "test.de").read_text().splitlines()
    done = mtkit(home, "translate", "--device", "cpu", stdin=source)
    translations = done.stdout.splitlines()
    assert len(translations) == 40
    assert sum(ours == theirs for ours, theirs in zip(translations, reference, strict=True)) >= 32

    done = mtkit(home, "evaluate", "--device", "cpu", "--format", "json")
    (system,) = json.loads(done.stdout)["systems"]
    bleu, chrf = system["scores"]
    assert (bleu["sentences"], bleu["test_set"]) == (40, "test of reverse")
    assert bleu["value"] > 80.0
    assert chrf["value"] > 80.0
    (kept,) = (home / "runs" / "reverse" / "translations").iterdir()
    assert kept.read_text().splitlines() == translations
    assert sorted(path.name for path in home.iterdir() if path.is_dir()) == ["data", "runs"]
