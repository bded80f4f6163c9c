"""How much memory the backward pass of one micro-batch needs: what its forward pass leaves behind, in bytes.

Each tensor that torch's automatic differentiation keeps is counted once, as torch's kernels on a CPU keep it; those of a GPU
keep about as much (a dropout mask takes one byte a number there, and more kinds of attention go without their weights; a CPU
keeps those of all in 16 bits).
Weights are not among it, save the copies that 16-bit arithmetic makes of them. What an operation needs only while it runs
comes on top. Comes in: the section `model`, a batch's shape, the arithmetic. Knows nothing of devices.

Names: D = d_model, F = d_ff, H heads of queries and G of keys and values, J = d_k, K = d_v, V pieces.
"""

from dataclasses import dataclass

from mtkit.config import schema
from mtkit.model.parameters import Parameters
from mtkit.model.positions import POSITIONS, Positions

FLOAT = 4
"""Bytes of a number in float32, which sums, norms and softmax are kept in."""

INTEGER = 8
"""Bytes of a token's id and the like."""

BYTES = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}
"""Of a number, by the arithmetic of linear maps."""

_INNER = {"relu": 1, "gelu": 2, "swiglu": 4, "experts": 1}
"""Tensors of width F a token; relu keeps what comes out of it, gelu also what went in, swiglu its two factors as well."""

_INNER_DROPPED = {"relu": 3, "gelu": 3, "swiglu": 5, "experts": 3}
"""The same with dropout on the inner units: the mask and, where it was not kept anyway, what is left under it."""


@dataclass(frozen=True)
class Shape:
    """A batch of sentence pairs: lengths in tokens, control token included, all alike but for the padding of a few."""

    sentences: int
    source: int
    target: int


def count_activations(
    config: schema.Model, training: schema.Training, shape: Shape, target_pieces: int, parameters: Parameters
) -> int:
    """Bytes kept between the forward and the backward pass of one micro-batch, the loss included."""
    width = BYTES[training.precision]
    again = training.recompute
    one_pass = shape.sentences * (_encoder(config, shape, width, again) + _decoder(config, shape, width, again))
    if config.positions == "relative":  # the bucket of each distance, and the causal mask
        one_pass += (shape.source**2 + shape.target**2) * INTEGER + shape.target**2
    copies = 0 if width == FLOAT else width * parameters.linear
    loss = _loss(config, shape.sentences * shape.target, target_pieces, width, two_passes=training.rdrop > 0)
    return copies + one_pass * (2 if training.rdrop else 1) + loss


def _loss(config: schema.Model, tokens: int, pieces: int, width: int, *, two_passes: bool) -> int:
    """The gradients of hidden states and output matrix, which are computed at once and no logits kept; not so in R-Drop."""
    states, matrix = tokens * config.d_model * width, pieces * config.d_model
    if not two_passes:
        return states + tokens + matrix * FLOAT
    copies = 0 if width == FLOAT else 2 * matrix * width
    # Of each pass the hidden states, log-probabilities and probabilities; the differences of both.
    return 2 * states + tokens * (INTEGER + 1 + 6 * pieces * FLOAT) + copies


def _encoder(config: schema.Model, shape: Shape, width: int, again: bool) -> int:
    """Of one sentence; with the encoder's output, which every decoder layer takes in."""
    layers, tokens = config.encoder_layers, shape.source
    learns = _is_biased(config) and _learns_positions(config)
    layer = _self_attention(config, tokens, width, fused=_is_fused(config) and not learns)
    layer += tokens * (_residual(config, width) + _feed_forward(config, width))
    whole = _stack(config, layers, layer, tokens, again) + tokens * _ends(config)
    if _is_biased(config) and not learns and _is_fused(config):  # one bias for all layers, converted for each in 16 bits
        whole += config.heads * tokens**2 * width * (1 if width == FLOAT else layers)
    return whole + tokens * config.d_model * width * (1 if width == FLOAT else config.decoder_layers)


def _decoder(config: schema.Model, shape: Shape, width: int, again: bool) -> int:
    """Of one sentence."""
    tokens = shape.target
    layer = _self_attention(config, tokens, width, fused=_is_fused(config) and not _is_biased(config))
    layer += _attention(config, tokens, shape.source, width, fused=_is_fused(config))
    layer += tokens * (2 * _residual(config, width) + _feed_forward(config, width))
    return _stack(config, config.decoder_layers, layer, tokens, again) + tokens * _ends(config)


def _stack(config: schema.Model, layers: int, layer: int, tokens: int, again: bool) -> int:
    """Of one sentence: `layer` bytes in each; or, where they are computed again, one whole and what goes into the others."""
    return layer + (layers - 1) * (tokens * config.d_model * FLOAT if again else layer)


def _ends(config: schema.Model) -> int:
    """Of one token: its id and its dropout mask before the first layer, the norm after the last."""
    mask = config.d_model * FLOAT if config.dropout else 0
    return INTEGER + mask + (0 if config.norm_placement == "post" else _norm(config, FLOAT))


def _norm(config: schema.Model, width: int) -> int:
    """Of one token: the input (in `width` bytes a number), its mean and deviation; RMSNorm keeps input and output."""
    return 2 * config.d_model * FLOAT + FLOAT if config.norm == "rms" else config.d_model * width + 2 * FLOAT


def _residual(config: schema.Model, width: int) -> int:
    """Of one token around one sublayer whose output has `width` bytes a number: norms and dropout mask."""
    norms = _norm(config, FLOAT) + (_norm(config, width) if config.norm_placement == "sandwich" else 0)
    # LayerNorm gives what it takes, RMSNorm float32; a sandwich drops after the norm.
    dropped = FLOAT if config.norm == "rms" and config.norm_placement == "sandwich" else width
    return norms + (config.d_model * dropped if config.dropout else 0)


def _is_biased(config: schema.Model) -> bool:
    """Whether the scheme of positions adds to the scores of self-attention."""
    return POSITIONS[config.positions].bias is not Positions.bias


def _learns_positions(config: schema.Model) -> bool:
    """Whether the scheme of positions has weights."""
    return any(True for _ in POSITIONS[config.positions](config, causal=False).parameters())


def _is_fused(config: schema.Model) -> bool:
    """Whether torch's kernel for attention does without its weights; a learned bias or one for each query rules it out."""
    return config.key_width == config.value_width and not config.attention_dropout


def _self_attention(config: schema.Model, tokens: int, width: int, *, fused: bool) -> int:
    """Of one sentence. The kernel keeps rotated queries and keys beside the ones before, and its output in another order."""
    rotated = 0
    if fused and POSITIONS[config.positions].rotation is not Positions.rotation:
        rotated = config.heads * (config.key_width + config.value_width) + config.groups * config.key_width
    return _attention(config, tokens, tokens, width, fused=fused) + tokens * rotated * width


def _attention(config: schema.Model, queries: int, keys: int, width: int, *, fused: bool) -> int:
    """Of one sentence: what queries are made of, queries, keys, values, the output, and the weights or just their sums."""
    key, value = config.key_width, config.value_width
    kept = queries * (config.d_model + config.heads * value) * width
    if fused:
        projected = (queries * config.heads * key + keys * config.groups * (key + value)) * width
        return kept + projected + queries * config.heads * FLOAT
    spread = config.heads * (queries * key + keys * (key + value)) * FLOAT  # each head has its own copy
    weights = config.heads * queries * keys * FLOAT
    return kept + spread + weights * (3 if config.attention_dropout else 1)


def _feed_forward(config: schema.Model, width: int) -> int:
    """Of one token in one layer, with the residual connection around it."""
    inner = (_INNER_DROPPED if config.feedforward_dropout else _INNER).get(config.feedforward, 2)
    inner *= config.d_ff * width
    if config.feedforward != "experts":
        return config.d_model * width + inner + _residual(config, width)
    # The router keeps its input, its distribution and what it was divided by; an expert the rows it got, its input, output
    # and weighted output and the weight. Their sum is kept in float32.
    routed = 2 * INTEGER + INTEGER + 2 * FLOAT + config.d_model * (2 * width + FLOAT) + inner
    router = config.d_model * width + (config.experts + 1) * FLOAT
    return router + config.experts_per_token * routed + _residual(config, FLOAT)
