"""What all tests share. Runs before torch is imported, so that the settings reach it and every process that tests start."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tensors of the tests are too small to share
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import contextlib
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import hypothesis
import pytest

from mtkit.config import schema

if TYPE_CHECKING:
    from mtkit.checkpoint import Run

# The same examples in each run, however slow the machine is.
hypothesis.settings.register_profile(
    "mtkit", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("mtkit")

ROOT = Path(__file__).parents[1]

TOY_WORDS = ("bako", "timu", "lera", "nosi", "pufa", "deko", "rilu", "saba")

TOY_CONFIG = """\
data:
  train: {source: train.en, target: train.de}
  validation: {source: validation.en, target: validation.de}
  test: {source: test.en, target: test.de}
cleaning: {drop_copies: false}
vocabulary: {size: 400, soft_limit: true}
model: {d_model: 32, d_ff: 64, heads: 4, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
training:
  updates: 60
  update_tokens: 600
  micro_batch_tokens: 300
  log_interval: 10
  schedule: {kind: inverse_square_root, peak: 0.008, warmup: 20}
  validation: {interval: 20}
  checkpoints: {interval: 20}
decoding: {max_length_constant: 5}
"""

FORKED = """\
import os, sys, traceback
from pathlib import Path
import torch
from mtkit.checkpoint import Run, State
from mtkit.config.loader import load_config
from mtkit.data.folder import PreparedData
from mtkit.support.distributed import processes
from mtkit.training.trainer import Trainer

def child(rank):
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(rank)
    try:
        with processes("cpu") as group:
            exec(sys.argv[2], globals() | {"group": group, "arguments": sys.argv[3:]})
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)

if int(sys.argv[1]) > 1:
    import torch._dynamo  # DistributedDataParallel does it, which takes seconds, and now it is done once
children = []
for rank in range(int(sys.argv[1])):
    children.append(os.fork())
    if not children[-1]:
        child(rank)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""
"""Several processes that share a run, for the price of one import of torch."""


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `toy.yaml` and its text: lines of three or four made-up words, to be put in reverse order."""
    folder = tmp_path_factory.mktemp("toy")
    draw = random.Random(1)
    for split, pairs in (("train", 1000), ("validation", 40), ("test", 40)):
        lines = [[draw.choice(TOY_WORDS) for _ in range(draw.randint(3, 4))] for _ in range(pairs)]
        (folder / f"{split}.en").write_text("".join(f"{' '.join(words)}\n" for words in lines))
        (folder / f"{split}.de").write_text("".join(f"{' '.join(reversed(words))}\n" for words in lines))
    (folder / "toy.yaml").write_text(TOY_CONFIG)
    return folder


@pytest.fixture(scope="session")
def toy_data(toy_corpus: Path) -> Path:
    """Its prepared folder, `data/toy` beside the config. Tests must not change it."""
    from mtkit.config.loader import load_config
    from mtkit.data.preparation import prepare

    with contextlib.chdir(toy_corpus):
        prepare(load_config("toy.yaml"), Path("data/toy"))
    return toy_corpus / "data" / "toy"


@pytest.fixture(scope="session")
def toy_run(toy_corpus: Path, toy_data: Path, train: "Callable[..., Run]") -> Path:
    """A run on it, `runs/toy` beside the config, of 60 updates: checkpoints of 20, 40 and 60. Tests must not change it."""
    return train(toy_corpus / "toy.yaml", (), toy_data, toy_corpus / "runs" / "toy").folder


@pytest.fixture(scope="session")
def train() -> "Callable[..., Run]":
    """train(config file, overrides, data folder, run folder, resume=False): what `mtkit train` does, in this process."""
    import torch

    from mtkit.config.loader import load_config
    from mtkit.data.folder import PreparedData
    from mtkit.support.distributed import Processes
    from mtkit.training.trainer import Trainer

    def run(config: Path, overrides: Sequence[str], data: Path, folder: Path, *, resume: bool = False) -> "Run":
        settings = load_config(str(config), [*overrides, f"data.folder={data}"])
        trainer = Trainer(settings, PreparedData.open(data), torch.device("cpu"), Processes())
        with trainer.open(folder, resume=resume) as opened:
            trainer.run(opened)
        return opened

    return run


@pytest.fixture
def mtkit(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """mtkit(folder, *arguments): the command line as from a shell in `folder`, but in this process."""

    def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        from mtkit.cli.main import main

        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["mtkit", *arguments])
        capfd.readouterr()
        code = main()
        return subprocess.CompletedProcess(sys.argv, code, *capfd.readouterr())

    return call


@pytest.fixture
def forked(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """forked(count, body, *arguments): runs the statements `body` in `count` processes that share a `group`."""

    def call(count: int, body: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", FORKED, str(count), body, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=os.environ | shared, capture_output=True, encoding="utf-8", timeout=280, check=False
        )

    return call


SMALL: dict[str, object] = {
    "d_model": 32,
    "d_ff": 80,
    "heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "experts": 5,
}

VARIANTS: list[dict[str, object]] = [
    {},
    *(
        {option: value}
        for option in ("positions", "norm", "norm_placement", "feedforward", "tied_embeddings")
        for value in get_args(schema.Model.model_fields[option].annotation)
    ),
    {"key_value_heads": 2},
    {"key_value_heads": 1, "positions": "rotary"},
    {"d_k": 4},
    {"d_v": 12},
    {"d_k": 4, "d_v": 4},
    {"d_k": 4, "d_v": 12, "key_value_heads": 2, "positions": "rotary"},
    {"norm": "rms", "norm_placement": "pre"},
    {"norm": "rms", "norm_placement": "sandwich"},
    {"norm_placement": "pre", "feedforward": "swiglu"},
    {"norm_placement": "sandwich", "feedforward": "gelu"},
    {"norm_placement": "sandwich", "feedforward": "experts", "experts_per_token": 1},
    {"positions": "alibi", "norm_placement": "pre"},
    {"dropout": 0.0},
    {"attention_dropout": 0.2},
    {"attention_dropout": 0.2, "positions": "alibi"},
    {"feedforward_dropout": 0.2, "feedforward": "relu"},
    {"feedforward_dropout": 0.2, "feedforward": "gelu"},
    {"feedforward_dropout": 0.2, "feedforward": "swiglu"},
    {"feedforward_dropout": 0.2, "feedforward": "experts"},
]


@pytest.fixture(params=VARIANTS, ids=lambda changes: "-".join(f"{key}={value}" for key, value in changes.items()) or "base")
def small_model(request: pytest.FixtureRequest) -> schema.Model:
    """The section `model` of a small variant."""
    return schema.Model.model_validate(SMALL | request.param)
