"""Counted weights against those of the real model."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from mtkit.config import schema
from mtkit.config.loader import load_config, shipped_configs
from mtkit.model.parameters import PARTS, count_parameters
from mtkit.model.transformer import Transformer, parameter_count

EMBEDDINGS = ("embedding", "source_embedding", "output_embedding")


def weights(*modules: nn.Module | None) -> int:
    """Of all of them together."""
    return sum(parameter_count(module) for module in modules if module is not None)


def test_every_part_is_that_of_the_real_model(small_model: schema.Model) -> None:
    source_pieces = 60 if small_model.tied_embeddings == "all" else 45
    real = Transformer(small_model, 60, source_pieces)
    found = count_parameters(small_model, source_pieces, 60)
    stacks = {"encoder": real.encoder, "decoder": real.decoder}
    expected = {name: weights(getattr(real, name)) for name in EMBEDDINGS}
    expected["positions"] = weights(real.encoder_positions, real.decoder_positions)
    for stack, layers in stacks.items():
        for kind in ("self_attention", "feed_forward", *(["cross_attention"] if stack == "decoder" else [])):
            expected[f"{stack}_{kind}"] = weights(*(layer.get_submodule(kind) for layer in layers.children()))
        norms = [part for name, part in layers.named_modules() if name.endswith("_residual")]
        expected[f"{stack}_norms"] = weights(*norms, real.get_submodule(f"{stack}_norm"))
    assert found.parts == expected
    assert tuple(found.parts) == PARTS
    assert found.total == sum(found.parts.values()) == parameter_count(real)
    assert found.linear == sum(part.weight.numel() for part in real.modules() if isinstance(part, nn.Linear))


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_have_the_size_of_the_real_model(name: str) -> None:
    config = load_config(name)
    with torch.device("meta"):
        real = Transformer(config.model, config.vocabulary.size)
    found = count_parameters(config.model, config.vocabulary.size, config.vocabulary.size)
    assert found.total == sum(found.parts.values()) == parameter_count(real)


def test_the_papers_models() -> None:
    base, big = (count_parameters(load_config(name).model, 37_000, 37_000) for name in ("base", "big"))
    assert (base.total, big.total) == (63_082_496, 214_245_376)
    biases = 4 * 512
    assert base.parts["encoder_self_attention"] == 6 * (786_432 + 262_144 + biases)
    assert base.parts["decoder_cross_attention"] == 6 * (786_432 + 262_144 + biases)
    assert base.parts["encoder_feed_forward"] == 6 * 2_099_712
    assert base.parts["embedding"] == 37_000 * 512
    assert base.active == base.total


def test_vocabularies_of_their_own() -> None:
    model = schema.Model(tied_embeddings="none")
    found = count_parameters(model, 100, 70).parts
    assert [found[name] for name in ("source_embedding", "embedding", "output_embedding")] == [51_200, 35_840, 35_840]
    assert count_parameters(model, 70, 100).parts["source_embedding"] == 35_840


def test_a_token_meets_the_experts_it_is_sent_to() -> None:
    model = schema.Model(d_model=8, d_ff=12, heads=2, feedforward="experts", experts=5, experts_per_token=2)
    found = count_parameters(model, 50, 50)
    expert = 2 * 8 * 12 + 12 + 8
    assert found.total - found.active == 12 * 3 * expert
    assert found.parts["encoder_feed_forward"] == 6 * (5 * expert + 5 * 8)


def test_nothing_of_torchs_compiler_is_imported() -> None:
    """It takes longer to import than all the rest to do."""
    program = (
        "import sys; from mtkit.config.schema import Config; from mtkit.inspection.describe import describe;"
        "describe('x', Config(), 1.0);"
        "print([name for name in ('torch._dynamo', 'sympy', 'datasets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
