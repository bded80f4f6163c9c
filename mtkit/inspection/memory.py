"""How much memory training and decoding need, in bytes. Comes in: a config, counted weights. Goes out: bytes by what they
are for. Leaves out what torch itself takes, and what an operation needs only while it runs: on a CPU the base model's
training peaks a fifth higher, its decoding two fifths.
"""

from dataclasses import dataclass

from mtkit.config.schema import Config
from mtkit.decoding.translator import LARGEST_ROWS
from mtkit.inspection.activations import BYTES, FLOAT, Shape, count_activations
from mtkit.model.cache import room
from mtkit.model.parameters import Parameters

COPIES = {"float32": 0, "bfloat16": 2, "int8": 1}
"""Bytes of the copy that decoding makes of a linear map's weight; with int8 all else stays float32."""


@dataclass(frozen=True)
class TrainingMemory:
    """Of one process; how many share the work changes nothing, as each has all weights and one micro-batch at a time."""

    weights: int
    gradients: int
    moments: int  # Adam's two, or the two that Schedule-Free Adam has
    average: int  # of the weights, where training.optimizer.average keeps one
    activations: int  # of one micro-batch

    @property
    def total(self) -> int:
        """Of all of it at once, as before the last micro-batch's backward pass."""
        return self.weights + self.gradients + self.moments + self.average + self.activations


@dataclass(frozen=True)
class DecodingMemory:
    """Of one batch, were every translation as long as it may be."""

    weights: int
    cache: int  # keys and values, and the encoder's output
    scores: int  # of all continuations of all hypotheses, by themselves and as sums

    @property
    def total(self) -> int:
        """Of all of it at once."""
        return self.weights + self.cache + self.scores


def training_memory(config: Config, parameters: Parameters, target_pieces: int, tokens: int) -> TrainingMemory:
    """For micro-batches of sentence pairs of `tokens` tokens on each side."""
    micro_batch = config.training.micro_batch_tokens or config.training.update_tokens
    shape = Shape(max(1, micro_batch // tokens), tokens, tokens)
    kept = count_activations(config.model, config.training, shape, target_pieces, parameters)
    weights = parameters.total * FLOAT
    return TrainingMemory(weights, weights, 2 * weights, weights if config.training.optimizer.average else 0, kept)


def decoding_memory(config: Config, parameters: Parameters, target_pieces: int, tokens: int) -> DecodingMemory:
    """For batches of sentences of `tokens` source tokens, control token included."""
    model, decoding = config.model, config.decoding
    width = BYTES.get(decoding.precision, FLOAT)
    sentences = max(1, min(decoding.batch_tokens // tokens, LARGEST_ROWS // decoding.beam_size))
    rows = sentences * decoding.beam_size
    longest = int(decoding.max_length_factor * (tokens - 1)) + decoding.max_length_constant
    keys_and_values = model.decoder_layers * model.groups * (model.key_width + model.value_width) * width
    places = room(decoding.beam_size * longest) + tokens  # of a sentence, in the target and in the source
    cache = sentences * (places * keys_and_values + tokens * model.d_model * FLOAT)
    copies = COPIES[decoding.precision] * parameters.linear
    return DecodingMemory(parameters.total * FLOAT + copies, cache, 2 * rows * target_pieces * FLOAT)
