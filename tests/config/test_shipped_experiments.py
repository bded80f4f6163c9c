"""The configs of the paper's Table 3 and of the variants around it: each is base.yaml but for what this table says."""

import pytest

from mtkit.config.loader import config_name, load_config, shipped_configs

WIDE_SWIGLU = {"model.feedforward": "swiglu", "model.d_ff": 1368}  # 8/3 d_model, as a multiple of 8

ABLATIONS: dict[str, dict[str, object]] = {
    "heads_1": {"model.heads": 1},
    "heads_4": {"model.heads": 4},
    "heads_16": {"model.heads": 16},
    "heads_32": {"model.heads": 32},
    "d_k_16": {"model.d_k": 16},
    "d_k_32": {"model.d_k": 32},
    "layers_2": {"model.encoder_layers": 2, "model.decoder_layers": 2},
    "layers_4": {"model.encoder_layers": 4, "model.decoder_layers": 4},
    "layers_8": {"model.encoder_layers": 8, "model.decoder_layers": 8},
    "d_model_256": {"model.d_model": 256},
    "d_model_1024": {"model.d_model": 1024},
    "d_ff_1024": {"model.d_ff": 1024},
    "d_ff_4096": {"model.d_ff": 4096},
    "dropout_0.0": {"model.dropout": 0.0},
    "dropout_0.2": {"model.dropout": 0.2},
    "label_smoothing_0.0": {"training.label_smoothing": 0.0},
    "label_smoothing_0.2": {"training.label_smoothing": 0.2},
    "learned_positions": {"model.positions": "learned"},
}
"""All of them are scored on newstest2013, as in the paper."""

VARIANTS: dict[str, dict[str, object]] = {
    "pre_norm": {"model.norm_placement": "pre"},
    "sandwich_norm": {"model.norm_placement": "sandwich"},
    "rms_norm": {"model.norm": "rms"},
    "sinusoidal_concatenated": {"model.positions": "sinusoidal_concatenated"},
    "rotary": {"model.positions": "rotary"},
    "alibi": {"model.positions": "alibi"},
    "relative": {"model.positions": "relative"},
    "gelu": {"model.feedforward": "gelu"},
    "swiglu": WIDE_SWIGLU,
    "experts": {"model.feedforward": "experts", "model.d_ff": 1024},
    "grouped_query": {"model.key_value_heads": 2},
    "untied": {"model.tied_embeddings": "none"},
    "tied_decoder": {"model.tied_embeddings": "decoder"},
    "separate_vocabularies": {
        "data.folder": "data/wmt14_en_de_separate",
        "vocabulary.shared": False,
        "vocabulary.size": 32_000,
        "model.tied_embeddings": "decoder",
    },
    "deep_encoder": {"model.encoder_layers": 20, "model.norm_placement": "pre"},
    "deep_shallow": {"model.norm_placement": "pre", "model.encoder_layers": 12, "model.decoder_layers": 1},
    "modern": {"model.norm": "rms", "model.norm_placement": "pre", "model.positions": "rotary"} | WIDE_SWIGLU,
}

EXPECTED = {
    **{f"ablations/{name}.yaml": found | {"evaluation.test_set": "newstest2013"} for name, found in ABLATIONS.items()},
    **{f"variants/{name}.yaml": found for name, found in VARIANTS.items()},
}


def options(name: str) -> dict[str, object]:
    """Every option of a config by its dotted name."""
    found: dict[str, object] = {}

    def walk(section: dict[str, object], path: str) -> None:
        for key, value in section.items():
            if isinstance(value, dict):
                walk(value, f"{path}{key}.")
            else:
                found[path + key] = value

    walk(load_config(name).model_dump(), "")
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_it_differs_from_base_as_it_says_and_in_nothing_else(name: str) -> None:
    base, own = options("base.yaml"), options(name)
    assert {key: value for key, value in own.items() if value != base[key]} == EXPECTED[name]


def test_every_experiment_is_in_the_table() -> None:
    assert {name for name in shipped_configs() if "/" in name} == set(EXPECTED)


def test_no_two_shipped_configs_share_a_run_folder() -> None:
    names = [config_name(name) for name in shipped_configs()]
    assert len(set(names)) == len(names)


def test_heads_at_constant_cost() -> None:
    for heads in (1, 4, 16, 32):
        model = load_config(f"ablations/heads_{heads}").model
        assert (model.heads * model.key_width, model.heads * model.value_width) == (512, 512)
    assert [load_config(f"ablations/d_k_{width}").model.value_width for width in (16, 32)] == [64, 64]
    assert [load_config(f"ablations/d_model_{width}").model.key_width for width in (256, 1024)] == [32, 128]
