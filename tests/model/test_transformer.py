"""The whole model: against torch's own layers with the same weights, its size, its start, who sees whom."""

import math
from typing import Literal, get_args

import pytest
import torch
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.attention import CrossAttention, SelfAttention
from mtkit.model.dropout import Dropout
from mtkit.model.feedforward import FEEDFORWARDS
from mtkit.model.layers import NORMS, PLACEMENTS
from mtkit.model.positions import POSITIONS, RelativeBias, Sinusoidal
from mtkit.model.transformer import Transformer, parameter_count

PIECES = 13
SMALL = schema.Model(d_model=16, d_ff=24, heads=4, encoder_layers=2, decoder_layers=3, dropout=0.0)
SOURCE_LENGTHS, TARGET_LENGTHS = (7, 3, 5, 1), (4, 6, 1, 3)

TO_TORCH = {  # our names of weights to those of torch.nn.Transformer
    "coder.": "coder.layers.",
    "coder_norm.": "coder.norm.",
    "self_attention.query_key_value.": "self_attn.in_proj_",
    "self_attention.output": "self_attn.out_proj",
    "cross_attention.output": "multihead_attn.out_proj",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
    "self_attention_residual.norm": "norm1",
    "cross_attention_residual.norm": "norm2",
}


def small_model(config: schema.Model = SMALL) -> Transformer:
    """All weights are random, so that no bias or gain can be missed."""
    torch.manual_seed(1)
    model = Transformer(config, PIECES).double()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    return model


def table_of(model: Transformer) -> Tensor:
    """The sinusoids that the model adds."""
    assert isinstance(model.encoder_positions, Sinusoidal)
    return model.encoder_positions.table


def tokens(lengths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Random ids [B, longest], 0 where padded, and their mask."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return torch.randint(1, PIECES, mask.shape) * mask, mask


def in_torch_terms(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights, or their gradients, under the names and in the grouping of torch.nn.Transformer; no embedding."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if name.endswith(("cross_attention.query.weight", "cross_attention.query.bias")):
            both = (tensor, tensors[name.replace("query", "key_value")])
            renamed[name.replace("cross_attention.query.", "multihead_attn.in_proj_")] = torch.cat(both)
        elif "key_value" not in name or "query_key_value" in name:
            renamed[name.replace("feed_forward_residual.norm", "norm2" if name.startswith("enc") else "norm3")] = tensor
    for ours, theirs in TO_TORCH.items():
        renamed = {name.replace(ours, theirs): tensor for name, tensor in renamed.items()}
    del renamed["embedding.weight"]
    return renamed


def torch_model(config: schema.Model, weights: dict[str, Tensor]) -> nn.Transformer:
    """torch's layers, with no norm after the last one where the layers end in one themselves."""
    sizes, pre = (config.d_model, config.heads, config.d_ff, 0.0), config.norm_placement == "pre"
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(*sizes, config.feedforward, batch_first=True, norm_first=pre),
        config.encoder_layers,
        norm=nn.LayerNorm(config.d_model) if pre else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(*sizes, config.feedforward, batch_first=True, norm_first=pre),
        config.decoder_layers,
        norm=nn.LayerNorm(config.d_model) if pre else None,
    )
    whole = nn.Transformer(*sizes[:2], custom_encoder=encoder, custom_decoder=decoder, batch_first=True).double()
    whole.load_state_dict(in_torch_terms(weights))
    return whole


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("feedforward", ["relu", "gelu"])
def test_outputs_and_gradients_are_those_of_torchs_layers(
    placement: Literal["post", "pre"], feedforward: Literal["relu", "gelu"]
) -> None:
    config = SMALL.model_copy(update={"norm_placement": placement, "feedforward": feedforward})
    model = small_model(config)
    theirs = torch_model(config, dict(model.named_parameters()))
    embedding = model.embedding.weight.detach().clone().requires_grad_()
    (source, source_real), (target, target_real) = tokens(SOURCE_LENGTHS), tokens(TARGET_LENGTHS)
    direction = torch.randn(int(target_real.sum()), SMALL.d_model, dtype=torch.float64)

    hidden = model(source, source_real, target)
    (hidden[target_real] * direction).sum().backward()

    def embed(ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, embedding) * 4.0 + table_of(model)[: ids.shape[1]]

    length = target.shape[1]
    expected = theirs(
        embed(source),
        embed(target),
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        src_key_padding_mask=~source_real,
        memory_key_padding_mask=~source_real,
    )
    (expected[target_real] * direction).sum().backward()

    assert torch.allclose(hidden[target_real], expected[target_real], rtol=0, atol=1e-10)
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    ours = in_torch_terms(gradients)
    assert ours.keys() == dict(theirs.named_parameters()).keys()
    for name, weight in theirs.named_parameters():
        assert weight.grad is not None
        assert weight.grad.abs().max() > 1e-6, name
        assert torch.allclose(ours[name], weight.grad, rtol=0, atol=1e-10), name
    assert embedding.grad is not None
    assert torch.allclose(gradients["embedding.weight"], embedding.grad, rtol=0, atol=1e-10)


def test_a_mask_of_all_tokens_is_no_mask() -> None:
    model = small_model()
    source, target = torch.randint(1, PIECES, (2, 5)), torch.randint(1, PIECES, (2, 4))
    everything = torch.ones(2, 5, dtype=torch.bool)
    assert torch.allclose(model(source, None, target), model(source, everything, target), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (schema.Model(), 63_082_496),
        (schema.Model(d_model=1024, d_ff=4096, heads=16, dropout=0.3), 214_245_376),
    ],
    ids=["base", "big"],
)
def test_the_papers_models_have_their_size(config: schema.Model, expected: int) -> None:
    with torch.device("meta"):  # sizes without the memory
        model = Transformer(config, 37_000)
    assert parameter_count(model) == expected


def test_logits_are_products_with_the_shared_embedding() -> None:
    model = small_model()
    hidden = torch.randn(2, 3, 16).double()
    assert torch.allclose(model.logits(hidden), hidden @ model.embedding.weight.T, rtol=0, atol=1e-12)


def test_embedded_tokens_start_with_unit_variance() -> None:
    torch.manual_seed(1)
    model = Transformer(schema.Model(d_model=256, encoder_layers=1, decoder_layers=1, dropout=0.0), 1000)
    model.encoder = nn.ModuleList()
    table = table_of(model)
    embedded = model.encode(torch.arange(200).view(1, 200), None) - table[:200]
    assert embedded.std().item() == pytest.approx(1.0, abs=0.02)
    assert embedded.mean().item() == pytest.approx(0.0, abs=0.02)
    assert model.embedding.weight.std().item() == pytest.approx(1 / math.sqrt(256), rel=0.02)


def test_embedded_tokens_are_dropped_in_training_only() -> None:
    torch.manual_seed(1)
    model = Transformer(SMALL.model_copy(update={"dropout": 0.25}), PIECES)
    model.encoder, model.decoder = nn.ModuleList(), nn.ModuleList()
    ids = torch.randint(1, PIECES, (20, 30))
    memory = torch.zeros(20, 1, 16)
    seen = torch.stack([model.encode(ids, None), model.decode(ids, memory, None)])
    model.eval()
    whole = torch.stack([model.encode(ids, None), model.decode(ids, memory, None)])
    for side in (0, 1):
        assert (seen[side] == 0).double().mean().item() == pytest.approx(0.25, abs=0.03)
    assert torch.allclose(seen[seen != 0], whole[seen != 0] / 0.75)


def test_evaluation_is_deterministic_and_training_is_not() -> None:
    for name in ("dropout", "attention_dropout", "feedforward_dropout"):
        model = Transformer(SMALL.model_copy(update={name: 0.3}), PIECES)
        ids = torch.randint(1, PIECES, (2, 5))
        assert not torch.equal(model(ids, None, ids), model(ids, None, ids)), name
        model.eval()
        assert torch.equal(model(ids, None, ids), model(ids, None, ids)), name


def test_each_rate_of_dropout_goes_where_its_option_says() -> None:
    model = Transformer(SMALL.model_copy(update={"dropout": 0.1, "attention_dropout": 0.2, "feedforward_dropout": 0.3}), 9)
    attentions = [part.dropout for part in model.modules() if isinstance(part, SelfAttention | CrossAttention)]
    assert attentions == [0.2] * (2 + 2 * 3)
    rates = {name: part.rate for name, part in model.named_modules() if isinstance(part, Dropout)}
    for name, rate in rates.items():
        assert rate == (0.3 if ".feed_forward." in name else 0.1), name
    assert list(rates.values()).count(0.1) == 1 + 2 * 2 + 3 * 3  # the embedded input and every sublayer


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_later_token_changes_no_earlier_hidden_state(dtype: torch.dtype) -> None:
    model = small_model().to(dtype)
    source, mask = tokens(SOURCE_LENGTHS)
    target = torch.randint(1, PIECES, (4, 9))
    hidden = model(source, mask, target)
    for position in (1, 4, 8):
        changed = target.clone()
        changed[:, position] = changed[:, position] % (PIECES - 1) + 1
        again = model(source, mask, changed)
        assert torch.equal(again[:, :position], hidden[:, :position])
        assert not torch.allclose(again[:, position:], hidden[:, position:])


def test_only_the_positions_tell_the_encoder_the_order() -> None:
    model = small_model()
    source, mask = tokens((9, 9, 9, 6))
    order = torch.randperm(9)
    assert not torch.allclose(model.encode(source[:, order], mask[:, order]), model.encode(source, mask)[:, order])
    table_of(model).zero_()
    permuted = model.encode(source[:, order], mask[:, order])
    assert torch.allclose(permuted, model.encode(source, mask)[:, order], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("option", "classes"),
    [("positions", POSITIONS), ("norm", NORMS), ("norm_placement", PLACEMENTS), ("feedforward", FEEDFORWARDS)],
)
def test_every_word_of_the_schema_has_its_class(option: str, classes: dict[str, type]) -> None:
    assert set(get_args(schema.Model.model_fields[option].annotation)) == set(classes)


@pytest.mark.parametrize(
    ("tied", "matrices"),
    [("all", {"embedding"}), ("decoder", {"embedding", "source_embedding"}),
     ("none", {"embedding", "source_embedding", "output_embedding"})],
)  # fmt: skip
def test_what_shares_a_matrix(tied: str, matrices: set[str]) -> None:
    torch.manual_seed(1)
    model = Transformer(SMALL.model_copy(update={"tied_embeddings": tied}), PIECES)
    names = {name.partition(".")[0] for name in model.state_dict() if "embedding" in name}
    assert names == matrices
    source, target, other = torch.randint(1, PIECES, (2, 5)), torch.randint(1, PIECES, (2, 4)), torch.zeros_like
    before = model.encode(source, None), model.decode(target, other(source[..., None].float()).expand(-1, -1, 16), None)
    logits = model.logits(before[1])
    model.embedding.weight.data += 1
    assert torch.equal(model.encode(source, None), before[0]) == (tied != "all")
    assert not torch.equal(model.decode(target, other(source[..., None].float()).expand(-1, -1, 16), None), before[1])
    assert torch.equal(model.logits(before[1]), logits) == (tied == "none")


def test_a_source_vocabulary_of_its_own() -> None:
    model = Transformer(SMALL.model_copy(update={"tied_embeddings": "decoder"}), PIECES, 40)
    hidden = model(torch.tensor([[39, 1]]), None, torch.tensor([[12, 1]]))
    assert model.logits(hidden).shape == (1, 2, PIECES)
    with pytest.raises(AssertionError, match="one matrix"):
        Transformer(SMALL, PIECES, 40)


def test_the_learned_tables_of_the_two_sides_are_two() -> None:
    model = Transformer(SMALL.model_copy(update={"positions": "learned", "learned_positions": 7}), PIECES)
    assert model.longest == 7
    sizes = {name: tuple(weight.shape) for name, weight in model.named_parameters() if "positions" in name}
    assert sizes == {"encoder_positions.vectors": (7, 16), "decoder_positions.vectors": (7, 16)}


@pytest.mark.parametrize("name", POSITIONS)
def test_every_scheme_tells_the_encoder_the_order(name: str) -> None:
    config = schema.Model.model_validate(SMALL.model_dump() | {"positions": name})
    model = small_model(config)
    source, _ = tokens((9, 9, 9, 9))
    order = torch.arange(9).flip(0)
    memory, turned = model.encode(source, None), model.encode(source[:, order], None)
    assert not torch.allclose(turned, memory[:, order], rtol=0, atol=1e-3), "a sentence and its reverse are alike"


def test_imbalance_counts_real_tokens_of_all_layers() -> None:
    config = schema.Model.model_validate(SMALL.model_dump() | {"feedforward": "experts", "experts": 3})
    model = small_model(config).train()
    (source, source_mask), (target, target_mask) = tokens(SOURCE_LENGTHS), tokens(TARGET_LENGTHS)

    def imbalance(sources: Tensor, targets: Tensor) -> float:
        model(sources, source_mask, targets)
        return torch.as_tensor(model.imbalance(source_mask, target_mask)).item()

    seen = imbalance(source, target)
    layers = SMALL.encoder_layers + SMALL.decoder_layers
    assert 0.9 * layers < seen < 3 * layers
    noise = source.masked_fill(~source_mask, 5), target.masked_fill(~target_mask, 6)
    assert imbalance(*noise) == pytest.approx(seen, abs=1e-10)
    assert small_model().imbalance(None, None) is None


@pytest.mark.parametrize("feedforward", FEEDFORWARDS)
@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
def test_computing_layers_again_changes_no_gradient(feedforward: str, positions: str) -> None:
    """The same dropout masks, bit for bit, with less memory."""
    options = {"dropout": 0.3, "feedforward_dropout": 0.2, "feedforward": feedforward, "positions": positions, "experts": 3}
    model = Transformer(schema.Model.model_validate(SMALL.model_dump() | options), PIECES)
    (source, mask), (target, _) = tokens(SOURCE_LENGTHS), tokens(TARGET_LENGTHS)
    found: dict[bool, dict[str, Tensor]] = {}
    kept = {False: 0, True: 0}
    for model.recompute in (False, True):

        def keep(tensor: Tensor, again: bool = model.recompute) -> Tensor:
            kept[again] += tensor.numel()
            return tensor

        torch.manual_seed(1)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            result = model(source, mask, target).square().sum()
        imbalance = model.imbalance(mask, None)
        torch.autograd.backward(result if imbalance is None else result + imbalance)
        found[model.recompute] = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        model.zero_grad()
    assert found[True].keys() == dict(model.named_parameters()).keys()
    for name, gradient in found[True].items():
        assert torch.equal(gradient, found[False][name]), name
    assert kept[True] < 0.7 * kept[False]


def test_the_decoder_alone_has_causal_positions() -> None:
    model = Transformer(SMALL.model_copy(update={"positions": "relative"}), PIECES)
    sides = (model.encoder_positions, model.decoder_positions)
    assert [side.causal for side in sides if isinstance(side, RelativeBias)] == [False, True]


def test_what_is_learned_beside_the_maps_starts_random_and_small() -> None:
    torch.manual_seed(1)
    options = {"positions": "relative", "feedforward": "experts", "experts": 50}
    model = Transformer(schema.Model.model_validate(SMALL.model_dump() | options), PIECES)
    weights = dict(model.named_parameters())
    for name in ("encoder_positions.biases", "decoder_positions.biases", "encoder.0.feed_forward.router.weight"):
        assert weights[name].std().item() == pytest.approx(16**-0.5, rel=0.2), name
