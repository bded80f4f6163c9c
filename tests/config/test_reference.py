"""The reference file and the shipped configs agree with the schema."""

import subprocess
import sys
from pathlib import Path

import pytest

from mtkit.config.catalogue import catalogue
from mtkit.config.loader import load_config, shipped_configs
from mtkit.config.reference import reference
from mtkit.config.schema import Config

CONFIGS = Path(__file__).parents[2] / "configs"


def test_every_section_and_option_says_what_it_means() -> None:
    assert [path for path, entry in catalogue().items() if len(entry.meaning) < 10] == []


def test_the_file_is_up_to_date() -> None:
    told = "stale: run `python -m mtkit.config.reference > configs/reference.yaml`"
    assert (CONFIGS / "reference.yaml").read_text("utf-8") == reference(), told


def test_it_is_made_by_running_the_module() -> None:
    command = [sys.executable, "-m", "mtkit.config.reference"]
    made = subprocess.run(command, capture_output=True, check=True, cwd=CONFIGS.parent)
    assert made.stdout.decode("utf-8") == reference()


def test_it_changes_nothing() -> None:
    assert load_config(str(CONFIGS / "reference.yaml")) == Config()


def test_it_names_defaults_ranges_and_choices() -> None:
    text = reference()
    assert "  # attention heads [a whole number of at least 1 and at most 10000]\n  heads: 8\n" in text
    assert "[one of float32,\n  # bfloat16, int8]\n  precision: float32\n" in text
    assert "[a number above 0]\n    epsilon: 1.0e-09\n" in text


@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_shipped_configs_hold(name: str) -> None:
    load_config(name)


def test_base_and_big_are_the_papers() -> None:
    base, big = load_config("base.yaml"), load_config("big.yaml")
    assert base.model == Config().model
    assert (big.model.d_model, big.model.d_ff, big.model.heads, big.model.dropout) == (1024, 4096, 16, 0.3)
    assert (base.training.updates, big.training.updates) == (100_000, 300_000)
    assert (base.training.checkpoints.keep_last, big.training.checkpoints.keep_last) == (5, 20)
    assert base.data == big.data
    for config in (base, big):
        assert config.evaluation.test_set == "newstest2014"
        # the checkpoints that are averaged stand equally far apart, the last one at the end
        assert config.training.updates % config.training.checkpoints.interval == 0
        assert config.training.validation.interval % config.training.checkpoints.interval == 0


def test_the_variant_with_two_vocabularies_is_the_base_model_otherwise() -> None:
    base, two = load_config("base.yaml"), load_config("variants/separate_vocabularies.yaml")
    assert not two.vocabulary.shared
    assert two.model.model_copy(update={"tied_embeddings": "all"}) == base.model
    assert (two.training, two.decoding, two.evaluation) == (base.training, base.decoding, base.evaluation)
    assert two.data.folder != base.data.folder  # or it would train on the numbers of the other vocabulary
    assert two.data.model_copy(update={"folder": base.data.folder}) == base.data


def test_english_french_is_the_papers_too() -> None:
    for english_german, english_french in (("base.yaml", "en_fr_base.yaml"), ("big.yaml", "en_fr_big.yaml")):
        german, french = load_config(english_german), load_config(english_french)
        assert french.model == german.model.model_copy(update={"dropout": 0.1})
        assert french.training == german.training
        assert french.evaluation == german.evaluation
        assert (french.data.hub, french.data.hub_config, french.data.target_language) == ("wmt/wmt14", "fr-en", "fr")
        assert french.vocabulary.size == 32_000
    assert load_config("en_fr_base.yaml").data == load_config("en_fr_big.yaml").data
