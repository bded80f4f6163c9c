"""Attention alone: what is seen, how strongly, and how the maps start out. The whole against torch: test_transformer.py."""

import math

import pytest
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.model.attention import CrossAttention, SelfAttention, View, attend, causal_mask


def weights_of(query: Tensor, key: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """Attention weights [T, S] of one head: with the unit matrix as values, they are the output."""
    return attend(query[None, None], key[None, None], torch.eye(len(key))[None, None], View(mask, causal), 0.0)[0, 0]


def test_the_example_worked_by_hand() -> None:
    key = torch.tensor([[2.0, 0, 2, 0], [0, 2, 0, 0], [1, 0, 1, 0], [2, 0, 1, 0]])
    weights = weights_of(torch.tensor([[2.0, 0, 2, 0]]), key)[0].tolist()
    # Products 8, 0, 4, 6 over sqrt(4).
    powers = [math.exp(score) for score in (4, 0, 2, 3)]
    assert weights == pytest.approx([power / sum(powers) for power in powers], abs=1e-6)
    assert weights == pytest.approx([0.66, 0.01, 0.09, 0.24], abs=0.005)


def test_true_in_a_mask_means_seen() -> None:
    weights = weights_of(torch.zeros(1, 4), torch.randn(3, 4), mask=torch.tensor([[True, False, True]]))
    assert weights.tolist() == [[0.5, 0.0, 0.5]]


def test_causal_shows_a_token_itself_and_the_earlier_ones() -> None:
    weights = weights_of(torch.zeros(3, 4), torch.zeros(3, 4), causal=True)
    assert torch.allclose(weights, torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]))


def test_a_mask_is_not_passed_beside_causal() -> None:
    with pytest.raises(AssertionError, match="one mask"):
        weights_of(torch.zeros(1, 4), torch.zeros(1, 4), mask=torch.tensor([[True]]), causal=True)


def test_the_causal_mask_puts_the_queries_last() -> None:
    assert causal_mask(2, 4, torch.device("cpu")).tolist() == [[True, True, True, False], [True] * 4]


def test_base_attention_has_the_papers_number_of_weights() -> None:
    with torch.device("meta"):
        own, cross = SelfAttention(schema.Model()), CrossAttention(schema.Model())
    assert (own.query_key_value.weight.numel(), own.output.weight.numel()) == (786_432, 262_144)
    assert cross.query.weight.numel() + cross.key_value.weight.numel() == 786_432
    assert cross.output.weight.numel() == 262_144
    for attention in (own, cross):
        assert sum(weight.numel() for weight in attention.parameters()) == 1_048_576 + 4 * 512


def test_each_map_starts_as_a_square_glorot_matrix_of_its_own() -> None:
    config = schema.Model(d_model=64, heads=4)
    own, cross = SelfAttention(config), CrossAttention(config)
    bound = math.sqrt(6 / (64 + 64))
    blocks = [*own.query_key_value.weight.chunk(3), own.output.weight]
    blocks += [cross.query.weight, *cross.key_value.weight.chunk(2), cross.output.weight]
    for block in blocks:
        assert 0.99 * bound < block.abs().max() <= bound
    assert not any(torch.equal(a, b) for n, a in enumerate(blocks) for b in blocks[:n])
    for linear in (own.query_key_value, own.output, cross.query, cross.key_value, cross.output):
        assert linear.bias.count_nonzero() == 0


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_attention_weights_are_dropped_in_training_only(kind: type[SelfAttention] | type[CrossAttention]) -> None:
    torch.manual_seed(1)
    attention = kind(schema.Model(d_model=8, heads=2, attention_dropout=0.5))
    without = kind(schema.Model(d_model=8, heads=2))
    without.load_state_dict(attention.state_dict())
    x = torch.randn(2, 5, 8)

    def of(module: SelfAttention | CrossAttention) -> Tensor:
        return module(x, View()) if isinstance(module, SelfAttention) else module(x, x, None)  # type: ignore[no-any-return]

    expected = of(without)
    assert not torch.allclose(of(attention), expected)
    assert torch.equal(of(attention.eval()), expected)


def test_hypotheses_of_a_sentence_share_its_memory() -> None:
    torch.manual_seed(1)
    attention = CrossAttention(schema.Model(d_model=8, heads=2)).double()
    x, memory = torch.randn(6, 4, 8).double(), torch.randn(2, 3, 8).double()  # three hypotheses of each of two sentences
    mask = torch.tensor([[True, True, True], [True, False, False]])[:, None, None, :]
    together = attention(x, memory, mask)
    for row in range(6):
        alone = attention(x[row : row + 1], memory[row // 3 : row // 3 + 1], mask[row // 3 : row // 3 + 1])
        assert torch.allclose(together[row], alone[0], rtol=0, atol=1e-12)
