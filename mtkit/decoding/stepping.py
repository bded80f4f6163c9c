"""Trained models as what the search and scoring need: log-probabilities of the next token, or of a given translation.

Comes in: one Transformer or several (an ensemble) and token ids. Goes out: float32 log-probabilities. Knows nothing of text
or of searching. An ensemble's distribution is the normalised geometric mean of its models': the mean of their
log-probabilities, renormalised.

Shapes: B sentences, S source tokens, R rows (hypotheses; those of a sentence follow one another), V pieces of the target's
vocabulary.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtkit.data.batching import collate, pad, padding_mask
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK
from mtkit.decoding.linear_maps import lacking, with_maps
from mtkit.decoding.output import Output
from mtkit.model.transformer import DecoderCache, Transformer
from mtkit.support.device import arithmetic
from mtkit.support.errors import UserError

NEVER = (PAD, BOS, UNK)
"""Tokens that no translation holds."""


@dataclass
class DecodingState:
    """What has been read of the sources and written of the targets, for each model."""

    memories: list[Tensor]  # [B, S, D] each
    mask: Tensor | None  # [B, S], True at real tokens; None where all are
    caches: list[DecoderCache]

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps hypotheses `rows` [R'] and `sentences` [B'], in that order; None keeps all as they are."""
        for cache in self.caches:
            cache.select(rows, sentences)
        if sentences is not None:
            self.memories = [memory.index_select(0, sentences) for memory in self.memories]
            self.mask = None if self.mask is None else self.mask.index_select(0, sentences)


class Stepper:
    """The models with the arithmetic to run them in. All must number text alike and lie on `device`."""

    def __init__(self, models: Sequence[Transformer], device: torch.device, precision: str = "float32") -> None:
        """On a CPU, later changes of the models' weights do not all reach it. UserError if it has not that arithmetic."""
        assert models, "at least one model"
        self.device = device
        self._packed = device.type == "cpu" and _may_pack(models, precision)
        self.precision = "float32" if self._packed else precision
        self.models = [with_maps(model, precision) for model in models] if self._packed else list(models)
        self._outputs = [Output(model.output_matrix, precision, NEVER) for model in models] if self._packed else []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Inside, no model drops anything or records gradients. Modes are put back, so that a training can go on."""
        modes = [model.training for model in self.models]
        try:
            for model in self.models:
                model.eval()
            # Entered around all steps of a search: autocast keeps converted weights until it is left.
            with torch.no_grad(), arithmetic(self.device, self.precision):
                yield
        finally:
            for model, mode in zip(self.models, modes, strict=True):
                model.train(mode)

    def begin(self, sources: Sequence[Sequence[int]]) -> DecodingState:
        """Encodes B sources, token ids without control tokens, none empty. Only inside `running`, as `step`."""
        assert all(len(source) for source in sources), "an empty source has no translation"
        source = pad([np.asarray(source, dtype=np.int64) for source in sources], last=EOS)
        mask = padding_mask(source)
        source, mask = source.to(self.device), None if mask is None else mask.to(self.device)
        memories = [model.encode(source, mask) for model in self.models]
        return DecodingState(memories, mask, [model.new_cache() for model in self.models])

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Newest tokens [R, 1] -> log-probabilities [R, V] of what comes next; the state then knows these tokens."""
        return self._combined(
            [self._log_probabilities(number, hidden) for number, hidden in enumerate(self._decoded(tokens, state))]
        )

    @property
    def finds_best(self) -> bool:
        """Whether `best` may be used."""
        return len(self._outputs) == 1

    def best(self, tokens: Tensor, state: DecodingState, count: int) -> tuple[Tensor, Tensor]:
        """As `step`, but only the `count` most probable next tokens of each row, best first, and none of `NEVER`.

        Log-probabilities [R, N] and tokens [R, N]. The same to rounding, in half the time.
        """
        (hidden,) = self._decoded(tokens, state)
        return self._outputs[0].best(hidden, count)

    def _decoded(self, tokens: Tensor, state: DecodingState) -> list[Tensor]:
        """The hidden state [R, D] of each model at the newest tokens [R, 1]."""
        return [
            model.decode(tokens, memory, state.mask, cache)[:, -1]
            for model, memory, cache in zip(self.models, state.memories, state.caches, strict=True)
        ]

    def forced_scores(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[float]:
        """log p(target, end token | source) of B pairs of token ids without control tokens, in one full forward pass."""
        batch = collate(*([np.asarray(tokens, dtype=np.int64) for tokens in side] for side in (sources, targets)))
        batch = batch.to(self.device)
        with self.running():
            log_probabilities = self._combined(
                [
                    self._log_probabilities(number, model(batch.source, batch.source_mask, batch.target_input))
                    for number, model in enumerate(self.models)
                ]
            )
        chosen = log_probabilities.gather(2, batch.target_output[..., None])[..., 0]
        scores: list[float] = chosen.masked_fill(batch.target_output == PAD, 0.0).sum(dim=1).tolist()
        return scores

    def _log_probabilities(self, number: int, hidden: Tensor) -> Tensor:
        """[…, D] of the model -> […, V], in float32 from the output map on: bfloat16 has too few digits for near pieces."""
        if self._outputs:
            return self._outputs[number].log_probabilities(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            return F.log_softmax(self.models[number].logits(hidden.float()), dim=-1)

    @staticmethod
    def _combined(log_probabilities: list[Tensor]) -> Tensor:
        """[…, V] of each model -> [..., V] of the ensemble."""
        if len(log_probabilities) == 1:
            return log_probabilities[0]
        return F.log_softmax(torch.stack(log_probabilities).mean(dim=0), dim=-1)


def _may_pack(models: Sequence[Transformer], precision: str) -> bool:
    """Whether the models' linear maps can be packed; else they are computed as in training. UserError if int8 needs it."""
    lack = lacking(precision)
    if any(model.embedding.weight.dtype != torch.float32 for model in models):
        lack = "the weights are not float32"
    if lack and precision == "int8":
        raise UserError(f"decoding.precision int8: {lack}: set decoding.precision=float32, or decoding.engine=ctranslate2")
    return lack is None
