"""How much arithmetic a model does a token, by part.

Counted are the multiplications and additions of matrix products, two for each product of two numbers: the linear maps, the
scores of attention and the sums they weigh, the router of experts, the output layer. Not counted is what needs about one
operation a number: biases, norms, softmax, activations, positions, the look-up of embeddings. Causal attention is counted
in full, though kernels may skip what is masked. The backward pass takes twice the forward pass: each product has two
gradients. So training takes three times what is told here.

A token of the source is one of the encoder, with its keys and values for the decoder; a token of the target is one of the
decoder with its distribution over the vocabulary. Comes in: the section `model` and sizes. Knows nothing of devices.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mtkit.config import schema
from mtkit.model.parameters import PARTS

TRAINING = 3
"""Forward and backward pass, in forward passes."""


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of a forward pass for each source token and for each target token."""

    source: int
    target: int


NONE = Operations(0, 0)


def count_operations(
    config: schema.Model, target_pieces: int, source_tokens: int, target_tokens: int
) -> Mapping[str, Operations]:
    """By the names of `PARTS`, in sentence pairs of these lengths, control tokens included."""
    encoder, decoder = config.encoder_layers, config.decoder_layers
    memory = decoder * 2 * config.d_model * config.groups * (config.key_width + config.value_width)
    output = "output_embedding" if config.tied_embeddings == "none" else "embedding"
    found = {
        output: Operations(0, 2 * config.d_model * target_pieces),
        "encoder_self_attention": Operations(encoder * _self_attention(config, source_tokens), 0),
        "encoder_feed_forward": Operations(encoder * _feed_forward(config), 0),
        "decoder_self_attention": Operations(0, decoder * _self_attention(config, target_tokens)),
        "decoder_cross_attention": Operations(memory, decoder * _queries(config, source_tokens)),
        "decoder_feed_forward": Operations(0, decoder * _feed_forward(config)),
    }
    return {part: found.get(part, NONE) for part in PARTS}


def total(operations: Mapping[str, Operations]) -> Operations:
    """Of all parts together."""
    return Operations(sum(part.source for part in operations.values()), sum(part.target for part in operations.values()))


def _self_attention(config: schema.Model, tokens: int) -> int:
    """Of one token among `tokens`: queries, keys and values, attention, the output map."""
    keys_and_values = 2 * config.d_model * config.groups * (config.key_width + config.value_width)
    return keys_and_values + _queries(config, tokens)


def _queries(config: schema.Model, keys: int) -> int:
    """Of one token that looks at `keys` others: its query, scores, weighted sum of values and the output map."""
    key, value = config.heads * config.key_width, config.heads * config.value_width
    return 2 * config.d_model * key + 2 * keys * (key + value) + 2 * value * config.d_model


def _feed_forward(config: schema.Model) -> int:
    """Of one token in one layer."""
    matrix = 2 * config.d_model * config.d_ff
    if config.feedforward == "experts":
        return 2 * config.d_model * config.experts + config.experts_per_token * 2 * matrix
    return matrix * (3 if config.feedforward == "swiglu" else 2)
