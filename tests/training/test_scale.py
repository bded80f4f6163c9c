"""A million pairs: the first update soon, memory small and the same in every epoch (R12)."""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mtkit.config.loader import load_config
from mtkit.data.preparation import prepare

PAIRS = 1_000_000
CONFIG = """\
data:
  train: {source: train.en, target: train.de}
  validation: {source: few.en, target: few.de}
cleaning: {drop_copies: false}
vocabulary: {size: 400, soft_limit: true}
model: {d_model: 8, d_ff: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.0}
training:
  updates: 115
  update_tokens: 100000
  micro_batch_tokens: 100000
  log_interval: 1
  validation: {interval: 1000000, bleu: false}
  checkpoints: {interval: 1000000}
"""


def memory(pid: int) -> float:
    """MB that belong to the process alone: not the files it has mapped."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(kilobytes) for kilobytes in re.findall(r"RssAnon:\s+(\d+)", status)) / 1024


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("million")
    draw, words = random.Random(1), [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    for language in ("en", "de"):
        lines = [" ".join(draw.choices(words, k=draw.randint(1, 4))) + "\n" for _ in range(PAIRS)]
        (folder / f"train.{language}").write_text("".join(lines))
        (folder / f"few.{language}").write_text("".join(lines[:10]))
    (folder / "scale.yaml").write_text(CONFIG)
    here = Path.cwd()
    os.chdir(folder)
    try:
        prepare(load_config("scale.yaml"), folder / "data")
    finally:
        os.chdir(here)
    return folder


@pytest.mark.slow
def test_a_million_pairs_begin_soon_and_take_the_same_memory_in_every_epoch(folder: Path) -> None:
    begin, first, held = time.perf_counter(), 0.0, dict[int, float]()
    command = [sys.executable, "-m", "mtkit", "train", "--config", "scale.yaml", "--data", "data", "--run", "run"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.match(r"update \d+/115 \| epoch (\d+) \|", line):
                first = first or time.perf_counter() - begin
                held[int(found[1])] = max(held.get(int(found[1]), 0.0), memory(process.pid))
    assert process.returncode == 0
    print(f"first update after {first:.1f} s; MB by epoch: { {epoch: round(mb) for epoch, mb in held.items()} }")
    assert first < 30
    assert held[3] < 1000
    assert held[3] < 1.1 * held[1]
