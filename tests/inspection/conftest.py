"""Every value of every option that changes what a model consists of, one or two at a time, on a small model."""

from typing import get_args

import pytest

from mtkit.config import schema

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
def model(request: pytest.FixtureRequest) -> schema.Model:
    """The section `model` of a small variant."""
    return schema.Model.model_validate(SMALL | request.param)
