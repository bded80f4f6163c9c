"""Counted memory against what real training steps and real decoding steps hold."""

import pytest
import torch

from mtkit.config import schema
from mtkit.config.loader import load_config
from mtkit.decoding import stepping
from mtkit.decoding.stepping import Stepper
from mtkit.inspection.activations import Shape, count_activations
from mtkit.inspection.memory import decoding_memory, training_memory
from mtkit.model.parameters import Parameters, count_parameters
from mtkit.model.transformer import Transformer
from mtkit.training.optimization import Optimization

PIECES = 50
SOURCE = 9
BEAM, LONGEST = 2, 13


Options = dict[str, object]


def small(model: Options, precision: str = "float32", optimizer: Options | None = None) -> schema.Config:
    """One that fits four sentences of SOURCE tokens into a batch of decoding."""
    sections = {
        "model": {"d_model": 16, "d_ff": 24, "heads": 4, "encoder_layers": 2, "decoder_layers": 3} | model,
        "decoding": {
            "beam_size": BEAM,
            "batch_tokens": 4 * SOURCE,
            "max_length_factor": 1.0,
            "max_length_constant": LONGEST - SOURCE + 1,
            "precision": precision,
        },
        "training": {"micro_batch_tokens": 100, "precision": precision, "optimizer": optimizer or {}},
    }
    return schema.Config.model_validate(sections)


def parameters(config: schema.Config) -> Parameters:
    return count_parameters(config.model, PIECES, PIECES)


def size(*tensors: torch.Tensor) -> int:
    """Bytes of all together."""
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        ({}, {}),
        ({}, {"feedforward": "experts"}),
        ({}, {"tied_embeddings": "none"}),
        ({"average": 0.9}, {}),
        ({"kind": "schedule_free"}, {}),
    ],
    ids=str,
)
def test_weights_gradients_and_moments_are_those_of_a_real_step(optimizer: Options, options: Options) -> None:
    config = small(options, optimizer=optimizer)
    model = Transformer(config.model, PIECES)
    optimization = Optimization(model, config.training.optimizer)
    found = training_memory(config, parameters(config), PIECES, SOURCE)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    assert found.weights == size(*model.parameters())
    assert found.gradients == size(*(weight.grad for weight in model.parameters() if weight.grad is not None))
    optimization.step(1, 1e-3)
    held = {name: tensor for name, tensor in optimization.state().items() if tensor.dim() and not name.endswith("/raw")}
    assert found.moments + found.average == size(*held.values())
    assert bool(found.average) == ("average" in optimizer)
    parts = (found.weights, found.gradients, found.moments, found.average, found.activations)
    assert found.total == sum(parts)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_activations_are_those_of_one_micro_batch(precision: str) -> None:
    config = small({}, precision)
    counted = parameters(config)
    found = training_memory(config, counted, PIECES, SOURCE)
    shape = Shape(100 // SOURCE, SOURCE, SOURCE)
    assert found.activations == count_activations(config.model, config.training, shape, PIECES, counted)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key_value_heads": 2},
        {"d_k": 2, "d_v": 6},
        {"positions": "rotary", "key_value_heads": 1},
        {"norm_placement": "pre"},
    ],
    ids=str,
)
def test_the_cache_is_about_that_of_real_decoding(options: Options, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many sentences as fit into a batch, each with its beam, to the last token allowed; as on a GPU in 16 bits."""
    monkeypatch.setattr(stepping, "_may_pack", lambda *_: False)
    config = small(options, precision)
    stepper = Stepper([Transformer(config.model, PIECES)], torch.device("cpu"), precision)
    with stepper.running():
        state = stepper.begin([[5] * (SOURCE - 1)] * 4)
        newest = torch.full((4, 1), 1)
        stepper.step(newest, state)
        rows = torch.arange(4).repeat_interleave(BEAM)
        state.select(rows, None)
        for _ in range(LONGEST - 1):
            log_probabilities = stepper.step(newest[rows], state)
    layers = [layer for cache in state.caches for layer in cache.layers]
    held = [part for layer in layers for part in vars(layer).values() if isinstance(part, torch.Tensor)]
    found = decoding_memory(config, parameters(config), PIECES, SOURCE)
    held_bytes = size(*held, *state.memories)
    assert held_bytes <= found.cache <= 1.25 * held_bytes, "memory is taken for some tokens at a time"
    assert found.scores == 2 * size(log_probabilities)


def test_bfloat16_keeps_a_copy_of_the_matrices() -> None:
    single, half = small({}), small({}, "bfloat16")
    counted = parameters(single)
    more = [decoding_memory(config, counted, PIECES, SOURCE).weights for config in (single, half)]
    assert more[1] - more[0] == 2 * counted.linear


def test_long_sentences_are_decoded_one_by_one() -> None:
    config = load_config("base", ["decoding.batch_tokens=10", "decoding.beam_size=1"])
    found = decoding_memory(config, count_parameters(config.model, 100, 100), 100, 30)
    assert found.scores == 2 * 100 * 4
