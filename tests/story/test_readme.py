"""Every command of the README, word for word and in its order, on toy data.

A config file in the working folder wins over the shipped one of its name, so `--config base.yaml` means a toy here. Only
the number of processes is changed.
"""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mtkit.config import schema
from mtkit.model import positions
from mtkit.model.transformer import Transformer

ROOT = Path(__file__).parents[2]

TOY = """
data:
  folder: data/{name}
  train: {{source: train.en, target: train.de}}
  validation: {{source: small.en, target: small.de}}
  test: {{source: small.en, target: small.de}}
vocabulary: {{size: 400, soft_limit: true}}
model: {{d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1, decoder_layers: 1}}
training:
  updates: 6
  update_tokens: 400
  micro_batch_tokens: 200
  validation: {{interval: 3}}
  checkpoints: {{interval: 1}}
decoding: {{max_length_factor: 0.0, max_length_constant: 8}}
"""


def commands() -> list[str]:
    """The lines of the README's shell blocks that run mtkit."""
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    return [
        line
        for block in blocks
        for line in block.splitlines()
        if re.search(r"\bmtkit (?!&&)", line) and "git clone" not in line
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with toy data under the names that the README uses."""
    folder = tmp_path_factory.mktemp("readme")
    draw = random.Random(3)
    words = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    for split, lines in (("train", 300), ("small", 8)):
        text = [[draw.choice(words) for _ in range(draw.randint(2, 6))] for _ in range(lines)]
        (folder / f"{split}.en").write_text("".join(" ".join(line) + "\n" for line in text))
        (folder / f"{split}.de").write_text("".join(" ".join(reversed(line)).upper() + "\n" for line in text))
    for name in ("output.de", "reference.de", "a.de", "b.de", "output.txt"):
        (folder / name).write_text((folder / "small.de").read_text())
    for name in ("source.en", "input.txt"):
        (folder / name).write_text((folder / "small.en").read_text())
    (folder / "terms.tsv").write_text("ba\tBA\n")
    (line,) = re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    (folder / "lines.jsonl").write_text(line, encoding="utf-8")
    for name, data in (("base", "wmt14_en_de"), ("multi30k", "multi30k"), ("demo", "demo")):
        (folder / f"{name}.yaml").write_text(TOY.format(name=data))
    return folder


def test_every_command_runs(folder: Path) -> None:
    found = commands()
    assert len(found) >= 12, found
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in found:
        toy = command.replace("--nproc_per_node 8", "--nproc_per_node 2").replace("--workers 8", "--workers 2")
        done = subprocess.run(
            ["bash", "-c", toy], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command == "mtkit evaluate":
            assert "BLEU = " in done.stdout
            assert "version:" in done.stdout
    assert len((folder / "output.tsv").read_text().splitlines()) >= 8


def test_the_tree_is_the_folder() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = text[text.index("mtkit/\n├──") :].split("```")[0]
    named = set(re.findall(r"[├└]── (\w+)(?:/|\.py)", tree))
    there = {path.stem for path in (ROOT / "mtkit").iterdir() if not path.name.startswith("_")}
    assert named == there
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z0-9-]+)`", text)) <= targets


def test_the_part_that_it_adds_is_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """One class in the file it names, one entry, one word: and the model learns, decodes and knows the order by it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(class .*?)```", text, flags=re.DOTALL)
    (entry, name) = re.findall(r'`"(\w+)": (\w+)`, into the dict `POSITIONS`', text)[0]
    namespace = dict(vars(positions))
    exec(compile(code, "README.md", "exec"), namespace)
    monkeypatch.setitem(positions.POSITIONS, entry, namespace[name])
    torch.manual_seed(1)
    sizes = schema.Model(d_model=16, d_ff=16, heads=4, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = Transformer(sizes.model_copy(update={"positions": entry}), 20).double()  # the word that the schema would know
    source, target = torch.randint(1, 20, (2, 6)), torch.randint(1, 20, (2, 5))
    memory = model.encode(source, None)
    assert not torch.allclose(model.encode(source.flip(1), None), memory.flip(1))
    hidden, cache = model.decode(target, memory, None), model.new_cache()
    steps = [model.decode(target[:, token : token + 1], memory, None, cache) for token in range(5)]
    assert torch.allclose(torch.cat(steps, dim=1), hidden, rtol=0, atol=1e-10)
    torch.autograd.backward(hidden.square().sum())
    assert all(weight.grad is not None for name, weight in model.named_parameters() if "positions" in name)
