"""Padding law: padding and longer batch mates change nothing at real tokens, for every variant of the model."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mtkit.data.batching import Batch, collate
from mtkit.data.vocabulary import PAD
from mtkit.model.transformer import Transformer
from mtkit.training.loss import TranslationLoss, smoothed_loss

LENGTHS = ((4, 6), (9, 2), (0, 3), (7, 0))  # of source and target, before the control token


def equal(seen: Tensor, expected: Tensor) -> bool:
    return seen.shape == expected.shape and torch.allclose(seen, expected, rtol=0, atol=1e-10)


@pytest.fixture
def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    return [(random.integers(4, 20, source), random.integers(4, 20, target)) for source, target in LENGTHS]


@pytest.fixture
def batch(pairs: list[tuple[np.ndarray, np.ndarray]]) -> Batch:
    return collate(*zip(*pairs, strict=True))


def test_batch_mates_change_no_hidden_state(
    model: Transformer, pairs: list[tuple[np.ndarray, np.ndarray]], batch: Batch
) -> None:
    memory = model.encode(batch.source, batch.source_mask)
    hidden = model(batch.source, batch.source_mask, batch.target_input)
    for number, (source, target) in enumerate(pairs):
        alone = collate([source], [target])
        assert alone.source_mask is None
        assert equal(memory[number, : len(source) + 1], model.encode(alone.source, None)[0])
        assert equal(hidden[number, : len(target) + 1], model(alone.source, None, alone.target_input)[0])


@pytest.mark.parametrize("more", [1, 5, 40])
def test_more_padding_changes_no_hidden_state(model: Transformer, batch: Batch, more: int) -> None:
    source, target = F.pad(batch.source, (0, more), value=PAD), F.pad(batch.target_input, (0, more), value=PAD)
    source_real, target_real = batch.source != PAD, batch.target_input != PAD
    padded = model.encode(source, source != PAD)[:, :-more]
    assert equal(padded[source_real], model.encode(batch.source, batch.source_mask)[source_real])
    hidden = model(batch.source, batch.source_mask, batch.target_input)[target_real]
    for sources, targets in ((source, batch.target_input), (batch.source, target), (source, target)):
        seen = model(sources, sources != PAD, targets)[:, : batch.target_input.shape[1]]
        assert equal(seen[target_real], hidden)


def test_what_stands_at_padded_positions_never_reaches_a_real_one(model: Transformer, batch: Batch) -> None:
    source_real, target_real = batch.source != PAD, batch.target_input != PAD
    hidden = model(batch.source, source_real, batch.target_input)
    noise = batch.source.masked_fill(~source_real, 11), batch.target_input.masked_fill(~target_real, 12)
    seen = model(noise[0], source_real, noise[1])
    if model.config.feedforward == "experts":  # other tokens beside a token in its expert's matrix product: other rounding
        assert equal(seen[target_real], hidden[target_real])
    else:
        assert torch.equal(seen[target_real], hidden[target_real])


def test_hidden_states_at_padding_are_finite(model: Transformer, batch: Batch) -> None:
    assert torch.isfinite(model.encode(batch.source, batch.source_mask)).all()
    assert torch.isfinite(model(batch.source, batch.source_mask, batch.target_input)).all()


def test_no_gradient_reaches_the_embedding_of_padding(model: Transformer, batch: Batch) -> None:
    hidden = model(batch.source, batch.source_mask, batch.target_input)[batch.target_input != PAD]
    (gradient,) = torch.autograd.grad(hidden.cos().sum(), model.embedding.weight)
    seen = set(batch.source.flatten().tolist()) | set(batch.target_input.flatten().tolist())
    assert set(gradient.abs().amax(1).nonzero().flatten().tolist()) == seen - {PAD}


def test_in_the_loss_padding_counts_as_one_more_piece_and_no_more(model: Transformer, batch: Batch) -> None:
    """The output layer gives every piece a probability, padding too; that is all the gradient its row has."""
    loss, _ = TranslationLoss(model, 0.1)(batch)
    (gradient,) = torch.autograd.grad(loss, model.embedding.weight)
    real = batch.target_output != PAD
    hidden = model(batch.source, batch.source_mask, batch.target_input)[real].detach()
    output, _ = smoothed_loss(hidden, model.embedding.weight, batch.target_output[real], 0.1)
    (of_output,) = torch.autograd.grad(output, model.embedding.weight)
    assert of_output[PAD].abs().max() > 0
    assert equal(gradient[PAD], of_output[PAD])
    assert not torch.allclose(gradient[4:], of_output[4:])
