"""A look at the model: loss and BLEU of the validation text, the same for any batches and processes, and no trace of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from mtkit.checkpoint import load_model
from mtkit.config.loader import load_config
from mtkit.config.schema import Config
from mtkit.data.batching import collate
from mtkit.data.folder import PreparedData
from mtkit.data.vocabulary import PAD
from mtkit.decoding.translator import Translator
from mtkit.evaluation.scores import score
from mtkit.model.transformer import Transformer
from mtkit.support.distributed import Processes
from mtkit.training.validation import Findings, Validator

CPU = torch.device("cpu")


@pytest.fixture
def model(toy_run: Path) -> Transformer:
    return load_model(toy_run, CPU).model.train()


@pytest.fixture
def config(toy_corpus: Path) -> Callable[..., Config]:
    return lambda *overrides: load_config(str(toy_corpus / "toy.yaml"), overrides)


@pytest.fixture
def look(toy_data: Path, config: Callable[..., Config], model: Transformer) -> Callable[..., Findings]:
    """look(*overrides, processes=...): what a validation finds."""

    def call(*overrides: str, processes: Processes | None = None) -> Findings:
        data = PreparedData.open(toy_data)
        return Validator(data, config(*overrides), CPU, processes or Processes())(model)

    return call


def test_the_loss_is_the_mean_of_all_target_tokens(
    look: Callable[..., Findings], toy_data: Path, model: Transformer
) -> None:
    pairs = PreparedData.open(toy_data).pairs("validation")
    total, tokens = 0.0, 0
    model.eval()
    for i in range(len(pairs)):
        batch = collate([pairs.source(i)], [pairs.target(i)])
        with torch.no_grad():
            hidden = model(batch.source, batch.source_mask, batch.target_input)
            logs = (hidden @ model.embedding.weight.T).log_softmax(-1)[0]
        expected = batch.target_output[0]
        assert PAD not in expected.tolist()
        total -= float(logs.gather(1, expected[:, None]).sum())
        tokens += len(expected)
    model.train()
    found = look("training.validation.bleu=false")
    assert found.loss == pytest.approx(total / tokens, rel=1e-5)
    assert (found.bleu, found.samples) == (None, ())
    for budget in (1, 20, 600):  # one that no pair fits into does not matter here
        assert look("training.validation.bleu=false", f"training.micro_batch_tokens={budget}").loss == pytest.approx(
            found.loss
        )


def test_bleu_is_that_of_the_translation(
    look: Callable[..., Findings], toy_corpus: Path, model: Transformer, config: Callable[..., Config], toy_data: Path
) -> None:
    found = look()
    source, reference = ((toy_corpus / f"validation.{side}").read_text().splitlines() for side in ("en", "de"))
    translator = Translator([model], PreparedData.open(toy_data).vocabularies(), config().decoding, CPU)
    translations = [translation.text for translation in translator.translate(source)]
    (expected, _) = score(translations, [reference], config().evaluation, target_language="de")
    assert found.bleu is not None
    assert found.bleu.value == expected.value > 1.0
    assert found.bleu.signature == expected.signature
    assert found.bleu.test_set == "validation, 40 lines"
    assert [sample.source for sample in found.samples] == [source[0], source[19], source[39]]
    assert [sample.translation for sample in found.samples] == [translations[0], translations[19], translations[39]]
    assert [sample.reference for sample in found.samples] == [reference[0], reference[19], reference[39]]
    assert found.alike == max(map(translations.count, translations)) / 40


def test_only_the_first_lines_are_translated_on_request(look: Callable[..., Findings]) -> None:
    whole, few = look(), look("training.validation.max_lines=2")
    assert few.bleu is not None
    assert (few.bleu.sentences, few.bleu.test_set, len(few.samples)) == (2, "validation, 2 lines", 2)
    assert few.loss == whole.loss


def test_it_leaves_no_trace(look: Callable[..., Findings], model: Transformer) -> None:
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = torch.get_rng_state()
    first = look()
    assert model.training
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert look() == first


@dataclass(frozen=True)
class OneAfterTheOther(Processes):
    """One of several processes that run in turn; what each has told is kept for the next."""

    told: dict[int, list[str]] = field(default_factory=dict)

    def gather(self, value: Any) -> list[Any]:
        """The values told so far; for want of better, this process's own for the others."""
        self.told[self.rank] = value
        return [self.told.get(rank, value) for rank in range(self.count)]

    def sum(self, values: list[float], device: torch.device) -> list[float]:
        """Those of this process."""
        return values


def test_processes_share_the_lines(look: Callable[..., Findings]) -> None:
    alone = look("training.validation.max_lines=9")
    told: dict[int, list[str]] = {}
    for rank in range(3):
        shared = OneAfterTheOther(rank, 3, rank, told=told)
        found = look("training.validation.max_lines=9", "training.micro_batch_tokens=40", processes=shared)
    assert (found.bleu, found.samples, found.alike) == (alone.bleu, alone.samples, alone.alike)
    assert [len(told[rank]) for rank in range(3)] == [3, 3, 3]
