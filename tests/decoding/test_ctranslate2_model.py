"""The runtime computes what our model computes, for every variant that it can, and is told of none that it cannot."""

from itertools import cycle, product
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding.ctranslate2_model import ACTIVATIONS, check, obstacles, specification
from mtkit.decoding.stepping import Stepper
from mtkit.model.positions import POSITIONS
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

SIZES = {"d_model": 32, "d_ff": 48, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
LENGTHS = [(3, 5), (60, 2), (1, 40), (17, 150)]  # far beyond what relative positions tell apart

# The first three options in every combination; the others take turns.
COMBINED = product((name for name in POSITIONS if name != "alibi"), ACTIVATIONS, ("post", "pre"))
OTHERS: list[dict[str, object]] = [
    {"norm": "rms", "key_value_heads": 2},
    {"d_k": 12, "d_v": 12, "tied_embeddings": "decoder"},
    {"tied_embeddings": "none"},
    {"key_value_heads": 1, "d_k": 4, "d_v": 4},
    {"norm": "rms", "encoder_layers": 1},
]
VARIANTS = [
    {"positions": positions, "feedforward": feedforward, "norm_placement": placement} | others
    for (positions, feedforward, placement), others in zip(COMBINED, cycle(OTHERS), strict=False)
]


def random_model(vocabulary: Vocabulary, variant: dict[str, object], source: Vocabulary | None = None) -> Transformer:
    """Random in all its weights, in such a way that everything in it matters."""
    torch.manual_seed(1)
    config = schema.Model.model_validate(SIZES | variant)
    model = Transformer(config, len(vocabulary), len(source or vocabulary)).eval()
    for name, weight in model.named_parameters():
        torch.nn.init.normal_(weight, mean=1.0 if "norm" in name and name.endswith("weight") else 0.0, std=0.3)
    return model


def runtime_scores(
    folder: Path, model: Transformer, vocabularies: Vocabularies, sources: list[list[int]], targets: list[list[int]]
) -> list[float]:
    spec = specification(model, vocabularies, 200)
    spec.optimize()
    spec.save(str(folder))
    runtime = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    text = [
        [[vocabulary.pieces[token] for token in tokens] for tokens in side]
        for vocabulary, side in ((vocabularies.source, sources), (vocabularies.target, targets))
    ]
    return [sum(result.log_probs) for result in runtime.score_batch(*text)]


def pairs(pieces: int) -> tuple[list[list[int]], list[list[int]]]:
    random = np.random.default_rng(0)
    source, target = zip(*LENGTHS, strict=True)
    return tuple([random.integers(4, pieces, size=length).tolist() for length in side] for side in (source, target))  # type: ignore[return-value]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))
def test_log_probabilities_are_ours(variant: dict[str, object], vocabulary: Vocabulary, tmp_path: Path) -> None:
    model, (sources, targets) = random_model(vocabulary, variant), pairs(300)
    ours = Stepper([model], torch.device("cpu")).forced_scores(sources, targets)
    seen = runtime_scores(tmp_path, model, Vocabularies(vocabulary, vocabulary), sources, targets)
    assert np.std(np.array(ours) / [len(target) + 1 for target in targets]) > 0.1, "a model that says the same of all"
    assert seen == pytest.approx(ours, rel=1e-5)


def test_vocabularies_of_their_own(tmp_path: Path) -> None:
    counts = {"a b c dog": 3, "tree": 4}, {"Haus": 5, "Katze": 2, "Baum Hund": 2}
    both = learn_vocabularies(counts, schema.Vocabulary(size=400, soft_limit=True))
    assert len(both.source) != len(both.target)
    model = random_model(both.target, {"tied_embeddings": "decoder"}, both.source)
    sources, targets = pairs(min(len(both.source), len(both.target)))
    ours = Stepper([model], torch.device("cpu")).forced_scores(sources, targets)
    assert runtime_scores(tmp_path, model, both, sources, targets) == pytest.approx(ours, rel=1e-5)


def test_all_obstacles_are_told_at_once() -> None:
    config = schema.Model.model_validate(
        SIZES | {"feedforward": "experts", "positions": "alibi", "norm_placement": "sandwich", "d_k": 4, "d_v": 8}
    )
    with pytest.raises(UserError) as refused:
        check(config)
    named = ("model.feedforward experts", "model.positions alibi", "model.norm_placement sandwich", "model.d_k 4 and d_v 8")
    assert all(name in str(refused.value) for name in named)
    assert len(obstacles(config)) == len(named)


def test_the_model_keeps_its_weights_when_they_are_quantised(vocabulary: Vocabulary) -> None:
    model = random_model(vocabulary, {})
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    specification(model, Vocabularies(vocabulary, vocabulary), 50).optimize(quantization="int8")
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
