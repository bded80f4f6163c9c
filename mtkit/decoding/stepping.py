"""Trained models as what the search and scoring need: log-probabilities of the next token, or of a given translation.

Comes in: one Transformer or several (an ensemble) and token ids. Goes out: float32 log-probabilities. Knows nothing of text
or of searching. An ensemble's distribution is the mean of its models': geometric (of the log-probabilities, renormalised) or
arithmetic (of the probabilities).

Shapes: B sentences, S source tokens, R rows (hypotheses; those of a sentence follow one another), V pieces of the target's
vocabulary.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from mtkit.data.batching import Batch, collate, pad, padding_mask
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK
from mtkit.decoding.compiling import compiled, compiling
from mtkit.decoding.linear_maps import lacking, with_maps
from mtkit.decoding.narrowing import Narrowed, narrowed
from mtkit.decoding.output import Output
from mtkit.model.attention import attention_weights
from mtkit.model.cache import DecoderCache, moved
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic
from mtkit.support.errors import UserError

NEVER = (PAD, BOS, UNK)
"""Tokens that no translation holds."""

IN_CACHE = 1024
"""Padded tokens that are encoded at a time on a CPU."""


@dataclass
class DecodingState:
    """What has been read of the sources and written of the targets, for each model."""

    memories: list[Tensor]  # [B, S, D] each
    mask: Tensor | None  # [B, S], True at real tokens; None where all are
    caches: list[DecoderCache]
    narrowed: Narrowed | None = None  # what tokens may follow; None = all
    attention: NDArray[np.float32] | None = None
    """[R, S] of the latest step, 1 at padding and end tokens; only inside `Stepper.running(watched=True)`."""

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps hypotheses `rows` [R'] and `sentences` [B'], in that order; None keeps all as they are."""
        for cache in self.caches:
            cache.select(rows, sentences)
        if sentences is not None:
            self.memories = [moved(memory, sentences) for memory in self.memories]
            self.mask = None if self.mask is None else self.mask.index_select(0, sentences)
            if self.narrowed is not None:
                self.narrowed.select(sentences)


class Stepper:
    """The models with the arithmetic to run them in. All must number text alike and lie on `device`."""

    def __init__(
        self,
        models: Sequence[Transformer],
        device: torch.device,
        precision: str = "float32",
        ensemble: str = "log_probability",
        *,
        compile: bool = False,
    ) -> None:
        """On a CPU, later changes of the models' weights do not all reach it. UserError if it has not that arithmetic.

        compile: whether steps go through torch's compiler, which knows no packed linear maps.
        """
        assert models, "at least one model"
        self.device = device
        self.packed = _may_pack(models, device, precision, compile)
        """Whether the models are twins of those given, never in training; threads may then run them at the same time."""
        self.precision = "float32" if self.packed else precision
        self._arithmetic = precision
        self._matrices = [model.output_matrix.detach() for model in models]
        self.models = [with_maps(model, precision).eval() for model in models] if self.packed else list(models)
        self._compiled = [compiled(model) for model in models] if compile else []
        self._outputs = [Output(model.output_matrix, precision, NEVER) for model in models] if self.packed else []
        self._mean = ENSEMBLES[ensemble]
        self._watched: list[dict[str, list[Tensor]]] = []  # attention weights of each model, while somebody looks

    @contextlib.contextmanager
    def running(self, *, watched: bool = False) -> Iterator[None]:
        """Inside, no model drops anything or records gradients. Modes are put back, so that a training can go on.

        watched: steps tell what they attended to, and take longer.
        """
        modes = [model.training for model in self.models]
        try:
            for model in self.models:
                model.eval()
            # Entered around all steps of a search: autocast keeps converted weights until it is left.
            with torch.no_grad(), arithmetic(self.device, self.precision), contextlib.ExitStack() as watching:
                self._watched = [watching.enter_context(attention_weights(model)) for model in self.models if watched]
                yield
        finally:
            self._watched = []
            for model, mode in zip(self.models, modes, strict=True):
                model.train(mode)

    def begin(self, sources: Sequence[Sequence[int]], allowed: Sequence[NDArray[np.int64]] | None = None) -> DecodingState:
        """Encodes B sources, token ids without control tokens, none empty. Only inside `running`, as `step`.

        allowed: for each the tokens of its translation, in order, control tokens included; None = all. Others then have no
        share of the probability.
        """
        assert all(len(source) for source in sources), "an empty source has no translation"
        source, mask = self._padded(sources)
        if mask is None and self._compiled:
            mask = torch.ones_like(source, dtype=torch.bool)  # or there would be twice the programs
        memories = [self._encoded(model, sources) for model in self.models]
        state = DecodingState(memories, mask, [model.new_cache() for model in self.models])
        if allowed is not None:
            state.narrowed = narrowed(allowed, self._matrices, self._outputs, self._arithmetic, NEVER)
        return state

    def _encoded(self, model: Transformer, sources: Sequence[Sequence[int]]) -> Tensor:
        """[B, S, D]; what stands at padding is of no account."""
        parts = [model.encode(*self._padded(batch)) for batch in self._encoded_together(sources)]
        longest = max(part.shape[1] for part in parts)
        return torch.cat([F.pad(part, (0, 0, 0, longest - part.shape[1])) for part in parts])

    def _padded(self, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor | None]:
        """[B, S] with end tokens, and True at real tokens; None where all are."""
        source = pad([np.asarray(source, dtype=np.int64) for source in sources], last=EOS)
        mask = padding_mask(source)
        return source.to(self.device), None if mask is None else mask.to(self.device)

    def _encoded_together(self, sources: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
        """The sources in their order: all at once, but on a CPU few enough to stay in its caches from layer to layer."""
        start = longest = 0
        for place, source in enumerate(sources):
            longest = max(longest, len(source) + 1)
            if self.packed and (place + 1 - start) * longest > IN_CACHE and place > start:
                yield sources[start:place]
                start, longest = place, len(source) + 1
        yield sources[start:]

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Newest tokens [R, 1] -> log-probabilities [R, V] of what comes next; the state then knows these tokens."""
        log_probabilities = self._mean(
            [
                self._log_probabilities(number, hidden, state.narrowed)
                for number, hidden in enumerate(self._decoded(tokens, state))
            ]
        )
        if self._watched:
            attention = self._attention().flatten(0, 1)  # [R, S]
            words = attention.new_ones(len(state.memories[0]), attention.shape[1], dtype=torch.bool)
            words = words if state.mask is None else state.mask
            words = words & words.roll(-1, dims=1).index_fill(
                1, torch.tensor([words.shape[1] - 1], device=words.device), False
            )
            nothing = ~words.repeat_interleave(len(attention) // len(words), dim=0)
            state.attention = attention.masked_fill(nothing, 1.0).cpu().numpy()
        return log_probabilities

    def _attention(self) -> Tensor:
        """[B, R / B * T, S] of the latest pass: the mean over heads and models in the layer that aligns best."""
        layers = [
            watched[f"decoder.{aligning_layer(len(model.decoder))}.cross_attention"][0]
            for model, watched in zip(self.models, self._watched, strict=True)
        ]
        return torch.stack([weights.float().mean(dim=1) for weights in layers]).mean(dim=0)

    def alignments(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """For each pair what its target tokens attended to when predicted.

        [target tokens + end token, source tokens + end token] each.
        """
        batch = _collated(sources, targets).to(self.device)
        with self.running(watched=True):
            for model in self.models:
                model(batch.source, batch.source_mask, batch.target_input)
            attention = self._attention().cpu().numpy()
        return [
            weights[: len(target) + 1, : len(source) + 1]
            for weights, source, target in zip(attention, sources, targets, strict=True)
        ]

    @property
    def finds_best(self) -> bool:
        """Whether `best` may be used."""
        return len(self._outputs) == 1

    def best(self, tokens: Tensor, state: DecodingState, count: int) -> tuple[Tensor, Tensor]:
        """As `step`, but only the `count` most probable next tokens of each row, best first, and none of `NEVER`.

        Log-probabilities [R, N] and tokens [R, N]. The same to rounding, in half the time.
        """
        (hidden,) = self._decoded(tokens, state)
        return (state.narrowed or self._outputs[0]).best(hidden, count)

    def _decoded(self, tokens: Tensor, state: DecodingState) -> list[Tensor]:
        """The hidden state [R, D] of each model at the newest tokens [R, 1]."""
        programs = [] if self._watched else self._compiled
        with compiling() if programs else contextlib.nullcontext():
            return [
                model.decode(tokens, memory, state.mask, cache)[:, -1]
                for model, memory, cache in zip(programs or self.models, state.memories, state.caches, strict=True)
            ]

    def forced_scores(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        """log p(target, end token | source) of B pairs of token ids without control tokens, in one full forward pass."""
        batch = _collated(sources, targets).to(self.device)
        with self.running():
            log_probabilities = self._mean(
                [
                    self._log_probabilities(number, model(batch.source, batch.source_mask, batch.target_input))
                    for number, model in enumerate(self.models)
                ]
            )
        chosen = log_probabilities.gather(2, batch.target_output[..., None])[..., 0]
        scores: list[float] = chosen.masked_fill(batch.target_output == PAD, 0.0).sum(dim=1).tolist()
        return scores

    def _log_probabilities(self, number: int, hidden: Tensor, among: Narrowed | None = None) -> Tensor:
        """[…, D] of the model -> […, V], in float32 from the output map on: bfloat16 has too few digits for near pieces."""
        if among is not None:
            with torch.autocast(hidden.device.type, enabled=False):
                return among.log_probabilities(number, hidden.float(), len(self._matrices[number]))
        if self._outputs:
            return self._outputs[number].log_probabilities(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            return F.log_softmax(self.models[number].logits(hidden.float()), dim=-1)


def _geometric(log_probabilities: list[Tensor]) -> Tensor:
    """[…, V] of each model -> […, V] of the ensemble."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    return F.log_softmax(torch.stack(log_probabilities).mean(dim=0), dim=-1)


def _arithmetic(log_probabilities: list[Tensor]) -> Tensor:
    """[…, V] of each model -> […, V] of the ensemble."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    return torch.stack(log_probabilities).logsumexp(dim=0) - math.log(len(log_probabilities))


ENSEMBLES = {"log_probability": _geometric, "probability": _arithmetic}


def aligning_layer(layers: int) -> int:
    """Number, from 0, of the decoder layer whose attention aligns words best: the last but one (Garg et al. 2019)."""
    return max(0, layers - 2)


def _collated(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """B pairs of token ids without control tokens -> a batch with them."""
    return collate(*([np.asarray(tokens, dtype=np.int64) for tokens in side] for side in (sources, targets)))


def _may_pack(models: Sequence[Transformer], device: torch.device, precision: str, compile: bool) -> bool:
    """Whether the models' linear maps can be packed; else they are computed as in training. UserError if int8 needs it."""
    lack = lacking(precision) if device.type == "cpu" else f"this {device.type} has none here"
    if any(model.embedding.weight.dtype != torch.float32 for model in models):
        lack = "the weights are not float32"
    if compile and precision == "int8":
        raise UserError(
            "decoding.precision int8: decoding.compile knows no products in it: set decoding.precision=float32, or "
            "decoding.compile=false"
        )
    if lack and precision == "int8":
        raise UserError(f"decoding.precision int8: {lack}: set decoding.precision=float32, or decoding.engine=ctranslate2")
    return lack is None and not compile
