"""The largest micro-batch: found by trying, the same in all processes, kept by the run."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import Run
from mtkit.config.loader import load_config, override_config
from mtkit.config.schema import Config
from mtkit.data.batching import Batch
from mtkit.data.folder import PreparedData
from mtkit.model.transformer import Transformer
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training.loss import TranslationLoss
from mtkit.training.probing import largest_fitting, with_micro_batches

CPU = torch.device("cpu")
SMALL = ("model.d_model=8", "model.d_ff=8", "model.heads=1", "model.encoder_layers=1", "model.decoder_layers=1")


@contextmanager
def memory_for(tokens: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, ...]]]:
    """Forward passes of more than so many tokens find no memory. Yields the shapes that were tried."""
    tried: list[tuple[int, ...]] = []
    real = TranslationLoss.forward

    def forward(self: TranslationLoss, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        tried.append(tuple(batch.source.shape))
        if batch.source.numel() > tokens:
            raise torch.OutOfMemoryError("no room")
        return real(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(TranslationLoss, "forward", forward)
        yield tried


def config(*options: str) -> Config:
    return override_config(Config(), [*SMALL, "training.micro_batch_tokens=auto", *options])


@pytest.mark.parametrize(
    ("update", "count", "room", "tokens"),
    [(600, 1, 600, 600), (600, 1, 599, 300), (600, 1, 130, 120), (600, 4, 600, 150), (600, 4, 100, 75), (601, 3, 200, 200)],
)
def test_as_few_as_fit(update: int, count: int, room: int, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(f"training.update_tokens={update}")
    alone = type("Alone", (Processes,), {"any": lambda self, flag, device: flag})
    model = Transformer(settings.model, 20)
    with memory_for(room, monkeypatch) as tried:
        assert largest_fitting(model, settings, 10, CPU, alone(count=count)) == tokens
    assert tried[-2:] in ([(tokens // 10, 10), (tokens // 8, 8)], [(tokens // 8, 8), (tokens // 10, 10)])
    assert all(weight.grad is None for weight in model.parameters())


def test_a_device_too_small_for_any(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config("training.update_tokens=600")
    with memory_for(30, monkeypatch), pytest.raises(UserError, match="auto: not even 40 tokens, the longest sentence, fit"):
        largest_fitting(Transformer(settings.model, 20), settings, 40, CPU, Processes())


def test_all_processes_take_what_the_smallest_holds(forked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = forked(2, BODY)
    assert done.returncode == 0, done.stderr
    assert "[100, 100]" in done.stdout


BODY = """
from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.model.transformer import Transformer
from mtkit.training import probing
small = ["d_model=8", "d_ff=8", "heads=1", "encoder_layers=1", "decoder_layers=1"]
training = ["training.micro_batch_tokens=auto", "training.update_tokens=600"]
config = override_config(Config(), [*training, *("model." + option for option in small)])
probing._fits = lambda model, config, tokens, longest, device: tokens <= (110 if group.rank else 10**6)
found = probing.largest_fitting(Transformer(config.model, 20), config, 10, torch.device("cpu"), group)
print(group.gather(found) if group.leads else group.gather(found) and "")
"""


def test_without_a_memory_of_its_own_to_fill(toy_corpus: Path, toy_data: Path, tmp_path: Path) -> None:
    data = PreparedData.open(toy_data)
    for update, found in ((25_000, 3571), (4096, 4096), (300, 300)):
        auto = load_config(
            str(toy_corpus / "toy.yaml"), ("training.micro_batch_tokens=auto", f"training.update_tokens={update}")
        )
        assert with_micro_batches(auto, data, CPU, Processes(), tmp_path / "run").training.micro_batch_tokens == found
    shared = with_micro_batches(auto, data, CPU, Processes(0, 3), tmp_path / "run")
    assert shared.training.micro_batch_tokens == 100, "all processes have something to do"


def test_a_run_keeps_what_was_found(train: Callable[..., Run], toy_corpus: Path, toy_data: Path, tmp_path: Path) -> None:
    begun = train(
        toy_corpus / "toy.yaml", ["training.updates=2", "training.micro_batch_tokens=150"], toy_data, tmp_path / "run"
    )
    auto = load_config(str(toy_corpus / "toy.yaml"), ("training.micro_batch_tokens=auto",))
    data = PreparedData.open(toy_data)
    assert with_micro_batches(auto, data, CPU, Processes(), begun.folder).training.micro_batch_tokens == 150
    given = load_config(str(toy_corpus / "toy.yaml"), ("training.micro_batch_tokens=99",))
    assert with_micro_batches(given, data, CPU, Processes(), begun.folder) == given
