"""Cache law: a decoding step with cache = the full forward pass at that position, for every variant of the model."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.model.positions import POSITIONS
from mtkit.model.transformer import Transformer

SOURCE_LENGTHS = (5, 2, 7)


def equal(seen: Tensor, expected: Tensor) -> bool:
    return seen.shape == expected.shape and torch.allclose(seen, expected, rtol=0, atol=1e-10)


def ids(*shape: int) -> Tensor:
    return torch.randint(1, 20, shape)


def stepwise(model: Transformer, target: Tensor, memory: Tensor, mask: Tensor | None, chunks: Sequence[int]) -> Tensor:
    """Hidden states of all of `target`, decoded with a cache, so many tokens at a time."""
    cache = model.new_cache()
    hidden = []
    for size in chunks:
        hidden.append(model.decode(target[:, cache.length : cache.length + size], memory, mask, cache))
    assert cache.length == target.shape[1]
    return torch.cat(hidden, dim=1)


@pytest.fixture
def encoded(model: Transformer) -> tuple[Tensor, Tensor]:
    """Memory and mask of three sentences of unequal length."""
    torch.manual_seed(2)
    mask = torch.arange(max(SOURCE_LENGTHS)) < torch.tensor(SOURCE_LENGTHS)[:, None]
    return model.encode(ids(*mask.shape) * mask, mask).detach(), mask


@pytest.mark.parametrize("chunks", [(1,) * 6, (2, 1, 3), (6,), (1, 5)], ids=str)
def test_a_step_equals_the_full_pass(model: Transformer, encoded: tuple[Tensor, Tensor], chunks: tuple[int, ...]) -> None:
    memory, mask = encoded
    target = ids(3, 6)
    assert equal(stepwise(model, target, memory, mask, chunks), model.decode(target, memory, mask))


@pytest.mark.parametrize("chunks", [(1,) * 6, (2, 1, 3)], ids=str)
def test_hypotheses_share_their_sentences_memory(
    model: Transformer, encoded: tuple[Tensor, Tensor], chunks: tuple[int, ...]
) -> None:
    memory, mask = encoded
    target = ids(9, 6)  # three hypotheses a sentence
    each = model.decode(target, memory.repeat_interleave(3, 0), mask.repeat_interleave(3, 0))
    assert equal(model.decode(target, memory, mask), each)
    assert equal(stepwise(model, target, memory, mask, chunks), each)


@pytest.mark.parametrize("hypotheses", [1, 2, 3])
def test_hypotheses_are_reordered_and_sentences_finish(
    model: Transformer, encoded: tuple[Tensor, Tensor], hypotheses: int
) -> None:
    """As in a search: at each step every hypothesis goes on from any of its sentence's, and sentences come and go."""
    memory, mask = encoded
    prefixes = ids(3, 2)
    cache = model.new_cache()
    model.decode(prefixes, memory, mask, cache)
    before = 1  # hypotheses of a sentence so far
    for sentences in ([0, 1, 2], [2, 0, 1], [1, 0], [1, 0], [0]):  # all kept, reordered, dropped, kept, dropped
        kept = torch.tensor(sentences)
        parents = torch.randint(before, (len(sentences), hypotheses))
        rows = (kept[:, None] * before + parents).flatten()
        cache.select(rows, None if len(kept) == len(memory) and sentences == sorted(sentences) else kept)
        memory, mask, prefixes, before = memory[kept], mask[kept], prefixes[rows], hypotheses
        newest = ids(len(rows), 1)
        prefixes = torch.cat([prefixes, newest], dim=1)
        seen = model.decode(newest, memory, mask, cache)
        every_memory, every_mask = memory.repeat_interleave(hypotheses, 0), mask.repeat_interleave(hypotheses, 0)
        assert equal(seen, model.decode(prefixes, every_memory, every_mask)[:, -1:])


def test_selecting_nothing_changes_nothing(model: Transformer, encoded: tuple[Tensor, Tensor]) -> None:
    memory, mask = encoded
    target = ids(3, 3)
    cache = model.new_cache()
    cache.select(torch.tensor([0]), torch.tensor([0]))  # an empty cache has nothing to lose
    model.decode(target[:, :2], memory, mask, cache)
    cache.select(None, None)
    assert equal(model.decode(target[:, 2:], memory, mask, cache), model.decode(target, memory, mask)[:, 2:])


def test_the_source_needs_no_mask_where_nothing_is_padding(model: Transformer) -> None:
    memory, target = model.encode(ids(2, 5), None), ids(4, 3)
    assert equal(stepwise(model, target, memory, None, (1, 1, 1)), model.decode(target, memory, None))


@pytest.mark.parametrize("positions", POSITIONS)
def test_decoding_goes_on_beyond_the_first_table_of_positions(positions: str) -> None:
    sizes = {"d_model": 16, "d_ff": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "positions": positions}
    model = Transformer(schema.Model.model_validate(sizes), 20).double().eval()
    memory, target = model.encode(ids(1, 3), None), ids(1, 515)
    assert equal(stepwise(model, target, memory, None, (510, 1, 3, 1)), model.decode(target, memory, None))
