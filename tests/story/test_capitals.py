"""Text in capitals can be translated where the training had some (T15)."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mtkit.checkpoint import Run, load_model
from mtkit.config.loader import load_config
from mtkit.data.preparation import prepare
from mtkit.decoding.translator import Translator
from tests.conftest import TOY_WORDS

CPU = torch.device("cpu")


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_capitals_are_translated_where_the_training_had_some(
    toy_corpus: Path, train: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.chdir(toy_corpus)
    config = load_config("toy.yaml", [f"cleaning.capitals={share}"])
    prepare(config, tmp_path / "data")
    options = ("training.updates=600", "training.validation.interval=200", "model.dropout=0.0")
    run = train(toy_corpus / "toy.yaml", options, tmp_path / "data", tmp_path / "run")
    loaded = load_model(str(run.folder), CPU)
    translator = Translator([loaded.model], loaded.vocabularies, config.decoding, CPU)
    draw = random.Random(5)
    lines = [" ".join(draw.choice(TOY_WORDS) for _ in range(3)) for _ in range(50)]
    loud = [line.upper() for line in lines]
    wanted = [" ".join(reversed(line.split())) for line in loud]
    right = sum(found.text == want for found, want in zip(translator.translate(loud), wanted, strict=True))
    assert right >= 40 if share else right == 0
