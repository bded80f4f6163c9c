"""A Transformer as CTranslate2 knows it: the same weights, named and laid out by that runtime's conventions.

Comes in: a model with its vocabularies. Goes out: a specification that CTranslate2 saves and loads, or all the reasons why
there is none. Knows no run folders and no search. Needs the extra ctranslate2.

What differs and is bridged: positions are given as a table (the runtime's own begin at 1); heads that share keys and values
get a copy each; a bias that all layers share is named in each; the epsilon of the norms is told; the source's end token is
the runtime's to add.
"""

from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import BOS, EOS, UNK
from mtkit.model.attention import CrossAttention, SelfAttention
from mtkit.model.feedforward import ReluFeedForward, SwigluFeedForward
from mtkit.model.layers import NORMS, DecoderLayer, EncoderLayer
from mtkit.model.positions import Learned, Positions, RelativeBias, Sinusoidal
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swiglu": "SWISH"}
"""Kinds of feed-forward sublayers that the runtime has, and its names for their activations."""

Floats = NDArray[np.float32]
Spec = Any  # the runtime ships no types


def runtime() -> ModuleType:
    """The package ctranslate2. UserError if it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        raise UserError("ctranslate2 is not installed: pip install 'mtkit[ctranslate2]'") from None
    return ctranslate2  # type: ignore[no-any-return]


def obstacles(config: schema.Model) -> list[str]:
    """Everything about the model that the runtime cannot compute, each with the option it comes from. [] = nothing."""
    found = []
    if config.feedforward not in ACTIVATIONS:
        found.append(f"model.feedforward {config.feedforward}: it has no mixture of experts in an encoder-decoder")
    if config.positions == "alibi":
        found.append("model.positions alibi: its encoder has none, and no slopes of their own to the right")
    if config.norm_placement == "sandwich":
        found.append("model.norm_placement sandwich: it has one norm a sublayer, before it or after the sum")
    if config.key_width != config.value_width:
        found.append(f"model.d_k {config.key_width} and d_v {config.value_width}: its heads have one width")
    return found


def check(config: schema.Model) -> None:
    """UserError with all `obstacles`, if there are any."""
    if found := obstacles(config):
        raise UserError(f"CTranslate2 cannot compute this model: {'; '.join(found)}")


def specification(model: Transformer, vocabularies: Vocabularies, longest: int) -> Spec:
    """The model as a ctranslate2 TransformerSpec, validated. All weights are copies: the runtime quantises them in place.

    longest: tokens of the longest sentence, with its control token, that a table of positions is written for; a learned
    table is as long as it is, and rotary and relative positions need none. UserError as `check`.
    """
    check(model.config)
    runtime()
    from ctranslate2.specs import common_spec, transformer_spec

    config = model.config
    shape = {
        "num_heads": config.heads,
        "head_dim": config.key_width,
        "pre_norm": config.norm_placement == "pre",
        "rms_norm": config.norm == "rms",
        "ffn_glu": config.feedforward == "swiglu",
        "activation": getattr(common_spec.Activation, ACTIVATIONS[config.feedforward]),
        "relative_attention_bias": config.positions == "relative",
    }
    if config.positions == "rotary":
        shape |= {"rotary_dim": 0, "rotary_interleave": False}  # all of a head's numbers, i with i + K/2
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, **shape),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, **shape),
    )
    _fill_stack(spec.encoder, model.encoder, model.encoder_norm, model.encoder_positions, longest)
    _fill_stack(spec.decoder, model.decoder, model.decoder_norm, model.decoder_positions, longest)
    spec.encoder.embeddings[0].weight = _array((model.source_embedding or model.embedding).weight)
    spec.decoder.embeddings.weight = _array(model.embedding.weight)
    spec.decoder.projection.weight = _array(model.output_matrix)
    spec.register_source_vocabulary(vocabularies.source.pieces)
    spec.register_target_vocabulary(vocabularies.target.pieces)
    pieces = vocabularies.target.pieces
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BOS]
    spec.config.eos_token, spec.config.unk_token = pieces[EOS], pieces[UNK]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = NORMS[config.norm](config.d_model).eps
    spec.validate()
    return spec


def _fill_stack(spec: Spec, layers: nn.ModuleList, last: nn.Module, positions: Positions, longest: int) -> None:
    """Encoder or decoder: its positions, its layers, and the norm after the last of them where there is one."""
    if isinstance(positions, Sinusoidal):
        spec.position_encodings.encodings = _array(positions.tabulated(longest))
    elif isinstance(positions, Learned):
        spec.position_encodings.encodings = _array(positions.vectors)
    elif hasattr(spec, "position_encodings"):
        del spec.position_encodings
    if hasattr(spec, "layer_norm"):
        _fill_norm(spec.layer_norm, last)
    for filled, layer in zip(spec.layer, layers, strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        _fill_self_attention(filled.self_attention, layer.self_attention, layer.self_attention_residual.norm)
        if isinstance(positions, RelativeBias):
            filled.self_attention.relative_attention_bias = _array(positions.biases.T)
            filled.self_attention.relative_attention_max_distance = np.int32(positions.far)
        if isinstance(layer, DecoderLayer):
            _fill_cross_attention(filled.attention, layer.cross_attention, layer.cross_attention_residual.norm)
        _fill_feed_forward(filled.ffn, layer.feed_forward, layer.feed_forward_residual.norm)


def _fill_self_attention(spec: Spec, attention: SelfAttention, norm: nn.Module) -> None:
    """Queries, keys and values are one product there too."""
    query, keys, values = _blocks(attention.query_key_value, attention.widths)
    copies = attention.heads // attention.groups
    joined = [query, _for_each_head(keys, attention, copies), _for_each_head(values, attention, copies)]
    _fill(spec.linear[0], *(np.concatenate(parts) for parts in zip(*joined, strict=True)))
    _fill(spec.linear[1], *_blocks(attention.output, [attention.output.out_features])[0])
    _fill_norm(spec.layer_norm, norm)


def _fill_cross_attention(spec: Spec, attention: CrossAttention, norm: nn.Module) -> None:
    """Queries apart, keys and values in one product."""
    copies = attention.heads // attention.groups
    shared = [_for_each_head(block, attention, copies) for block in _blocks(attention.key_value, attention.widths[1:])]
    _fill(spec.linear[0], *_blocks(attention.query, [attention.query.out_features])[0])
    _fill(spec.linear[1], *(np.concatenate(parts) for parts in zip(*shared, strict=True)))
    _fill(spec.linear[2], *_blocks(attention.output, [attention.output.out_features])[0])
    _fill_norm(spec.layer_norm, norm)


def _fill_feed_forward(spec: Spec, sublayer: nn.Module, norm: nn.Module) -> None:
    """With a gate, the activated half comes first in our matrix."""
    assert isinstance(sublayer, ReluFeedForward | SwigluFeedForward)
    halves = _blocks(sublayer.inner, [sublayer.outer.in_features] * (2 if isinstance(sublayer, SwigluFeedForward) else 1))
    for linear, block in zip((spec.linear_0, getattr(spec, "linear_0_noact", None)), halves, strict=False):
        _fill(linear, *block)
    _fill(spec.linear_1, *_blocks(sublayer.outer, [sublayer.outer.out_features])[0])
    _fill_norm(spec.layer_norm, norm)


def _fill_norm(spec: Spec, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    spec.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _array(norm.bias)


def _fill(spec: Spec, weight: Floats, bias: Floats | None = None) -> None:
    spec.weight = weight
    if bias is not None:
        spec.bias = bias


def _blocks(linear: nn.Linear, widths: list[int]) -> list[tuple[Floats, ...]]:
    """(weight, bias) or (weight,) of each of the maps that lie in one matrix below each other."""
    parts = [linear.weight, *([linear.bias] if linear.bias is not None else [])]
    return list(zip(*([_array(block) for block in torch.split(part, widths)] for part in parts), strict=True))


def _for_each_head(block: tuple[Floats, ...], attention: SelfAttention | CrossAttention, copies: int) -> tuple[Floats, ...]:
    """The keys' or values' map with a copy for each head of queries that shares it."""
    return tuple(
        part.reshape(attention.groups, -1, *part.shape[1:]).repeat(copies, axis=0).reshape(-1, *part.shape[1:])
        for part in block
    )


def _array(tensor: Tensor) -> Floats:
    return tensor.detach().float().cpu().numpy().copy()
