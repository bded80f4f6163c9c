"""Every shipped variant learns: at toy size, to reverse a list of numbers without a mistake.

No number comes twice in a list, so that a model may go by what stood beside what, and need not count.
"""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.config.loader import load_config, shipped_configs
from mtkit.data.batching import collate
from mtkit.decoding.search import beam_search
from mtkit.decoding.stepping import Stepper
from mtkit.model.transformer import Transformer
from mtkit.training.loss import TranslationLoss
from mtkit.training.optimization import Optimization

CONTROLS, NUMBERS = 4, 24
SMALL = {"d_model": 32, "d_ff": 64, "heads": 4, "d_k": 0, "d_v": 0, "dropout": 0.0, "experts": 4}
VARIANTS = [name for name in shipped_configs() if name.startswith("variants/")]

Side = list[NDArray[np.int64]]


def lists(random: np.random.Generator, count: int, shortest: int, longest: int) -> tuple[Side, Side]:
    """Lists of distinct numbers, and the same reversed."""
    drawn = [
        random.permutation(NUMBERS)[: random.integers(shortest, longest + 1)].astype(np.int64) + CONTROLS
        for _ in range(count)
    ]
    return drawn, [numbers[::-1].copy() for numbers in drawn]


def taught(config: schema.Model, *, updates: int, longest: int, peak: float = 4e-3) -> Transformer:
    """Trained on random lists of up to `longest` numbers: 64 an update, the rate up for a tenth of the time, then down."""
    torch.manual_seed(1)
    model = Transformer(config, CONTROLS + NUMBERS)
    loss, optimization = TranslationLoss(model, 0.0), Optimization(model, schema.Optimizer(clip_norm=1.0))
    random = np.random.default_rng(1)
    warmup = updates // 10
    for update in range(1, updates + 1):
        batch = collate(*lists(random, 64, 1, longest))
        total, _ = loss(batch)
        (total / batch.target_output.count_nonzero()).backward()
        optimization.step(update, peak * min(update / warmup, (updates - update) / (updates - warmup)))
    return model.eval()


def exact(model: Transformer, shortest: int, longest: int) -> float:
    """Share of lists of that length that greedy search reverses without a mistake."""
    sources, targets = lists(np.random.default_rng(7), 100, shortest, longest)
    stepper = Stepper([model], torch.device("cpu"))
    with stepper.running():
        state = stepper.begin([source.tolist() for source in sources])
        limits = [len(source) + 5 for source in sources]
        found = beam_search(stepper.step, state, limits, schema.Decoding(beam_size=1), torch.device("cpu"))
    answers = [hypotheses[0] for hypotheses in found]
    right = [
        bool(list(answer.tokens) == target.tolist() and not answer.truncated)
        for answer, target in zip(answers, targets, strict=True)
    ]
    return sum(right) / len(right)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_learns_to_reverse(name: str) -> None:
    """Two layers on each side, but where the number of layers is what the variant is about: there as many as it has."""
    config, usual = load_config(name).model, schema.Model()
    layers = {
        side: 2 if getattr(config, side) == getattr(usual, side) else getattr(config, side)
        for side in ("encoder_layers", "decoder_layers")
    }
    small = schema.Model.model_validate(config.model_dump() | SMALL | layers)
    assert exact(taught(small, updates=1000, longest=8), 1, 8) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positions", "least", "most"), [("rotary", 0.4, 1.0), ("alibi", 0.6, 1.0), ("sinusoidal", 0.0, 0.3)]
)
def test_relative_schemes_still_answer_on_longer_lists(positions: str, least: float, most: float) -> None:
    """Up to 16 numbers seen in training; 17 and 18 asked. The paper's positions are the control."""
    sizes = SMALL | {"d_model": 64, "d_ff": 128, "encoder_layers": 2, "decoder_layers": 2}
    config = schema.Model.model_validate(sizes | {"positions": positions, "norm_placement": "pre"})
    model = taught(config, updates=2000, longest=16, peak=3e-3)
    assert exact(model, 1, 16) >= 0.95
    assert least <= exact(model, 17, 18) <= most


def test_the_modern_variant_learns_to_reverse_short_lists() -> None:
    """The quick one of these tests."""
    sizes = SMALL | {"encoder_layers": 1, "decoder_layers": 1}
    modern = {"norm_placement": "pre", "norm": "rms", "positions": "rotary", "feedforward": "swiglu"}
    model = taught(schema.Model.model_validate(sizes | modern), updates=250, longest=4, peak=1e-2)
    assert exact(model, 1, 4) >= 0.9
