"""Which models the paper's Table 3 has a row for."""

import pytest

from mtkit.config.loader import load_config, shipped_configs
from mtkit.config.schema import Config
from mtkit.inspection.paper import TABLE_3, paper_row

PRINTED: dict[str, tuple[str, int | None, float]] = {
    "base": ("base", 65, 25.8),
    "big": ("big", 213, 26.4),
    "ablations/heads_1": ("A", None, 24.9),
    "ablations/heads_4": ("A", None, 25.5),
    "ablations/heads_16": ("A", None, 25.8),
    "ablations/heads_32": ("A", None, 25.4),
    "ablations/d_k_16": ("B", 58, 25.1),
    "ablations/d_k_32": ("B", 60, 25.4),
    "ablations/layers_2": ("C", 36, 23.7),
    "ablations/layers_4": ("C", 50, 25.3),
    "ablations/layers_8": ("C", 80, 25.5),
    "ablations/d_model_256": ("C", 28, 24.5),
    "ablations/d_model_1024": ("C", 168, 26.0),
    "ablations/d_ff_1024": ("C", 53, 25.4),
    "ablations/d_ff_4096": ("C", 90, 26.2),
    "ablations/dropout_0.0": ("D", None, 24.6),
    "ablations/dropout_0.2": ("D", None, 25.5),
    "ablations/label_smoothing_0.0": ("D", None, 25.3),
    "ablations/label_smoothing_0.2": ("D", None, 25.7),
    "ablations/learned_positions": ("E", None, 25.7),
}


def row(config: Config) -> tuple[str, int | None, float] | None:
    found = paper_row(config)
    return None if found is None else (found.name, found.millions, found.bleu)


@pytest.mark.parametrize("name", PRINTED)
def test_every_row_is_found_for_its_config(name: str) -> None:
    assert row(load_config(name)) == PRINTED[name]


def test_every_row_has_its_config() -> None:
    assert len(TABLE_3) == len(PRINTED)
    ablations = {name.removesuffix(".yaml") for name in shipped_configs() if name.startswith("ablations/")}
    assert ablations | {"base", "big"} == set(PRINTED)


@pytest.mark.parametrize("name", [name for name in shipped_configs() if name.startswith("variants/")])
def test_later_variants_are_not_in_the_paper(name: str) -> None:
    assert paper_row(load_config(name)) is None


@pytest.mark.parametrize(
    "overrides",
    [
        ["model.d_k=64", "model.d_v=64", "model.key_value_heads=8"],
        ["model.experts=3", "model.experts_per_token=1", "model.balance=0.5", "model.learned_positions=300"],
        ["training.updates=7", "data.folder=elsewhere", "decoding.beam_size=1"],
    ],
    ids=str,
)
def test_it_is_the_model_that_counts(overrides: list[str]) -> None:
    assert row(load_config("base", overrides)) == PRINTED["base"]


@pytest.mark.parametrize(
    "override",
    [
        "vocabulary.size=32000",
        "model.norm_placement=pre",
        "model.attention_dropout=0.1",
        "model.decoder_layers=2",
        "model.key_value_heads=4",
        "model.tied_embeddings=decoder",
        "training.label_smoothing=0.3",
    ],
)
def test_another_model_has_no_row(override: str) -> None:
    assert paper_row(load_config("base", [override])) is None
