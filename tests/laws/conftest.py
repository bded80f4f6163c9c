"""A small model of every combination of variants: what the laws of the model are tried on."""

from itertools import cycle, product

import pytest
import torch

from mtkit.config import schema
from mtkit.model.feedforward import FEEDFORWARDS
from mtkit.model.layers import NORMS, PLACEMENTS
from mtkit.model.positions import POSITIONS
from mtkit.model.transformer import Transformer

OPTIONS = ("positions", "norm", "feedforward", "key_value_heads")
# Every combination of four options; the placement of the norms takes turns.
VARIANTS = list(zip(product(POSITIONS, NORMS, FEEDFORWARDS, (0, 2)), cycle(PLACEMENTS), strict=False))


@pytest.fixture(params=VARIANTS, ids=lambda variant: "-".join(map(str, (*variant[0], variant[1]))), scope="module")
def model(request: pytest.FixtureRequest) -> Transformer:
    """In float64, all weights random (biases and gains too), in evaluation mode, over 20 pieces."""
    sizes = {"d_model": 16, "d_ff": 24, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "experts": 3}
    options, placement = request.param
    variant = dict(zip(OPTIONS, options, strict=True)) | {"norm_placement": placement}
    torch.manual_seed(1)
    model = Transformer(schema.Model.model_validate(sizes | variant), 20).double().eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model
