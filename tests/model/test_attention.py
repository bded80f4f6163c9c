"""Attention alone: what is seen, how strongly, and how the maps start out. The whole against torch: test_transformer.py."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.model.attention import (
    CrossAttention,
    SelfAttention,
    View,
    attend,
    attend_openly,
    attention_weights,
    causal_mask,
)
from mtkit.model.transformer import Transformer


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
    x, memory = torch.randn(2, 3, 4, 8).double(), torch.randn(2, 3, 8).double()  # three hypotheses of each of two sentences
    mask = torch.tensor([[True, True, True], [True, False, False]])[:, None, None, :]
    together = attention(x.flatten(1, 2), memory, mask).view_as(x)
    for row, hypothesis in itertools.product(range(2), range(3)):
        alone = attention(x[row, hypothesis][None], memory[row : row + 1], mask[row : row + 1])
        assert torch.allclose(together[row, hypothesis], alone[0], rtol=0, atol=1e-12)


def test_heads_in_groups_share_keys_and_values() -> None:
    """With two groups of two heads: as four heads whose keys and values come in equal pairs."""
    torch.manual_seed(1)
    grouped = SelfAttention(schema.Model(d_model=8, heads=4, key_value_heads=2)).double()
    whole = SelfAttention(schema.Model(d_model=8, heads=4)).double()
    assert grouped.query_key_value.weight.shape == (8 + 4 + 4, 8)
    for name, tensor in grouped.query_key_value.named_parameters():
        torch.nn.init.normal_(tensor)
        query, key, value = torch.split(tensor.data, [8, 4, 4])
        pairs = (side.view(2, 2, *side.shape[1:]).repeat_interleave(2, dim=0).flatten(0, 1) for side in (key, value))
        whole.query_key_value.get_parameter(name).data = torch.cat([query, *pairs])
    whole.output.load_state_dict(grouped.output.state_dict())
    x = torch.randn(2, 5, 8).double()
    assert torch.allclose(grouped(x, View()), whole(x, View()), rtol=0, atol=1e-12)


def test_the_widths_of_a_head_are_free() -> None:
    """Table 3, rows B: d_k = 16 beside d_v = 64 at d_model 512."""
    config = schema.Model(d_k=16)
    attention = SelfAttention(config)
    assert attention.query_key_value.weight.shape == (8 * 16 + 8 * 16 + 8 * 64, 512)
    assert attention.output.weight.shape == (512, 8 * 64)
    assert attention(torch.randn(2, 3, 512), View()).shape == (2, 3, 512)
    odd = CrossAttention(schema.Model(d_model=10, heads=3, d_k=7, d_v=2))
    assert odd(torch.randn(2, 3, 10), torch.randn(2, 4, 10), None).shape == (2, 3, 10)


def views(queries: int, keys: int) -> dict[str, View]:
    """One of each kind; the last with a learned bias that needs a gradient of its own."""
    padding = (torch.arange(keys) < torch.tensor([[keys], [2]]))[:, None, None, :]
    bias = torch.randn(4, queries, keys, dtype=torch.float64)
    return {
        "everything": View(),
        "padding": View(padding),
        "causal": View(causal=True),
        "causal mask": View(causal_mask(queries, keys, torch.device("cpu"))),
        "numbers": View(bias.masked_fill(~padding, float("-inf")).requires_grad_()),
    }


@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("d_v", [6, 3])
@pytest.mark.parametrize("kind", list(views(2, 2)))
def test_the_fast_path_is_the_open_one(kind: str, groups: int, d_v: int) -> None:
    torch.manual_seed(1)
    view = views(5, 5)[kind]
    tensors = [
        torch.randn(2, heads, 5, width, dtype=torch.float64, requires_grad=True)
        for heads, width in ((4, 6), (groups, 6), (groups, d_v))
    ]
    if view.mask is not None and view.mask.requires_grad:
        tensors.append(view.mask)
    query, key, value = tensors[:3]
    fast, (slow, weights) = attend(query, key, value, view, 0.0), attend_openly(query, key, value, view, 0.0)
    assert torch.allclose(fast, slow, rtol=0, atol=1e-12)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 5, dtype=torch.float64), rtol=0, atol=1e-12)
    direction = torch.randn_like(fast)
    gradients = [torch.autograd.grad((result * direction).sum(), tensors) for result in (fast, slow)]
    for quick, open_one in zip(*gradients, strict=True):
        finite = open_one.isfinite()  # a score of -inf has none
        assert torch.allclose(quick[finite], open_one[finite], rtol=0, atol=1e-12)
        assert quick[finite].abs().max() > 1e-4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", list(views(2, 2)))
def test_in_sixteen_bits_it_is_the_same_to_their_precision(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    view = views(5, 5)[kind]
    narrow = [torch.randn(2, heads, 5, 6).to(dtype).requires_grad_() for heads in (4, 2, 2)]
    exact = [tensor.detach().double().requires_grad_() for tensor in narrow]
    ours, truth = (attend(query, key, value, view, 0.0) for query, key, value in (narrow, exact))
    assert ours.dtype == dtype
    digits = 4 * torch.finfo(dtype).eps
    assert torch.allclose(ours.double(), truth, rtol=digits, atol=digits)
    direction = torch.randn(2, 4, 5, 6)
    gradients = [torch.autograd.grad((result * direction).sum(), of) for result, of in ((ours, narrow), (truth, exact))]
    for quick, right in zip(*gradients, strict=True):
        assert torch.allclose(quick.double(), right, rtol=8 * digits, atol=8 * digits)


def test_dropped_weights_are_seen_undropped() -> None:
    query = torch.randn(1, 1, 50, 4)
    result, weights = attend_openly(query, query, torch.ones(1, 1, 50, 1), View(), 0.5)
    assert torch.allclose(weights.sum(-1), torch.ones(1, 1, 50))
    assert result.std() > 0.01


def test_the_weights_of_every_head_and_layer_can_be_looked_at() -> None:
    torch.manual_seed(1)
    model = Transformer(schema.Model(d_model=16, heads=4, encoder_layers=2, decoder_layers=3), 9).eval()
    source, target = torch.randint(1, 9, (2, 5)), torch.randint(1, 9, (6, 4))  # three hypotheses of each sentence
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    memory = model.encode(source, mask)
    expected = model.decode(target, memory, mask)
    with attention_weights(model) as seen:
        assert torch.allclose(model.decode(target, model.encode(source, mask), mask), expected, rtol=0, atol=1e-5)
        assert {name: tuple(weights.shape) for name, (weights,) in seen.items()} == {
            **{f"encoder.{layer}.self_attention": (2, 4, 5, 5) for layer in range(2)},
            **{f"decoder.{layer}.self_attention": (2, 4, 12, 12) for layer in range(3)},
            **{f"decoder.{layer}.cross_attention": (2, 4, 12, 5) for layer in range(3)},
        }
        for name, (weights,) in seen.items():
            assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5), name
            if "cross" in name:
                assert weights[1:, ..., 3:].count_nonzero() == 0, "padding is not looked at"
            if name.startswith("decoder") and "self" in name:
                assert weights.triu(1).count_nonzero() == 0, "nor is what comes later"
                assert weights[:, :, 4:, :4].count_nonzero() == 0, "nor the other hypotheses"
        cross = seen["decoder.0.cross_attention"][0].view(2, 4, 3, 4, 5).transpose(1, 2).flatten(0, 1)
        for row in range(6):  # each hypothesis has its own
            model.decode(target[row : row + 1], memory[row // 3 : row // 3 + 1], mask[row // 3 : row // 3 + 1])
            assert torch.allclose(seen["decoder.0.cross_attention"][0][0], cross[row], atol=1e-5)
    assert torch.equal(model.decode(target, memory, mask), expected), "and then the fast path is back"


def test_one_may_look_while_somebody_looks() -> None:
    model = Transformer(schema.Model(d_model=16, heads=4, encoder_layers=1, decoder_layers=1), 9).eval()
    name, short, long = "encoder.0.self_attention", torch.ones(1, 2, dtype=torch.int64), torch.ones(1, 3, dtype=torch.int64)
    with attention_weights(model) as outer:
        model.encode(short, None)
        with attention_weights(model) as inner:
            model.encode(long, None)
        assert (inner[name][0].shape[-1], outer[name][0].shape[-1]) == (3, 2)
        model.encode(long, None)
        assert outer[name][0].shape[-1] == 3
