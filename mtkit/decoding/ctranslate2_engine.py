"""The search for translations done by CTranslate2: the same models, options and answers, another runtime.

Comes in: token ids of sources. Goes out: hypotheses, as our own search gives them. Knows no text. Needs the extra
ctranslate2.

Its search is ours with decoding.patience=1: it stops once `beam_size` hypotheses have ended (patience times as many, if that
is set) or, without a length penalty, as soon as the best one has. It knows the penalty `average` only; for `gnmt` its n best
are ordered anew. It takes control tokens out before the probabilities are normalised, we after; a trained model gives them
next to none.
"""

import functools
import tempfile
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import BOS, EOS, PAD
from mtkit.decoding.ctranslate2_model import obstacles, runtime, specification
from mtkit.decoding.lanes import lane_count
from mtkit.decoding.length_penalties import LENGTH_PENALTIES
from mtkit.decoding.phrases import NO_WISHES
from mtkit.decoding.requests import Request
from mtkit.decoding.search import Hypothesis
from mtkit.decoding.stepping import Stepper
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

HONOURED = {
    *("engine", "beam_size", "length_penalty", "alpha", "n_best", "precision", "max_length_factor", "max_length_constant"),
    *("patience", "max_source_tokens", "batch_tokens", "buffer", "long_lines", "split_sentences", "check_copies"),
}
"""Options of the section decoding that hold here too. Any other one must be left as it is."""


class CTranslate2Engine:
    """One model as CTranslate2 runs it."""

    def __init__(
        self, models: Sequence[Transformer], vocabularies: Vocabularies, config: schema.Decoding, device: torch.device
    ) -> None:
        """UserError with all reasons if the runtime cannot do what is asked."""
        self.rows = config.beam_size
        self.side_by_side = device.type == "cpu" and config.buffer > 1  # a line alone had better have all threads
        self._models, self._device = models, device
        self._config = config
        self._vocabularies = vocabularies
        self._token = {piece: token for token, piece in enumerate(vocabularies.target.pieces)}
        reasons = [reason for model in models for reason in obstacles(model.config)] + unsupported(config)
        if len(models) > 1:
            reasons.append(f"{len(models)} models: it has no ensembles")
        types = runtime().get_supported_compute_types(device.type)
        if config.precision not in types:
            reasons.append(f"decoding.precision {config.precision}: this {device.type} has {', '.join(sorted(types))}")
        if reasons:
            raise UserError(f"decoding.engine ctranslate2 cannot do this: {'; '.join(reasons)}")
        longest = max(
            config.max_source_tokens + 1,
            int(config.max_length_factor * config.max_source_tokens) + config.max_length_constant,
        )
        spec = specification(models[0], vocabularies, longest)
        spec.optimize(quantization=config.precision)
        threads, lanes = torch.get_num_threads(), lane_count() if self.side_by_side else 1
        with tempfile.TemporaryDirectory(prefix="mtkit-ctranslate2-") as folder:
            spec.save(folder)
            self._translator = runtime().Translator(
                folder,
                device=device.type,
                device_index=device.index or 0,
                compute_type=config.precision,
                inter_threads=lanes,
                intra_threads=threads // lanes,
            )
        torch.set_num_threads(threads)  # the runtime gives torch no more than its own

    def search(self, requests: Sequence[Request]) -> list[list[Hypothesis]]:
        """As `Engine.search`. Where hypotheses reach the limit, ended ones that score less than those may be missing.

        The runtime has one limit for all. A line whose search may have come to its own is searched again with that.
        UserError for a request that has wishes.
        """
        if any(request.wishes != NO_WISHES for request in requests):
            raise UserError(
                "decoding.engine ctranslate2 knows no prefixes and no required or forbidden phrases: take the engine mtkit"
            )
        sources, limits = [request.source for request in requests], [request.longest for request in requests]
        found = self._run(sources, max(limits))
        again: dict[int, list[int]] = {}
        for place, hypotheses in enumerate(found):
            if limits[place] < max(limits) and any(one.length >= limits[place] for one in hypotheses):
                again.setdefault(limits[place], []).append(place)
        for limit, places in again.items():
            for place, hypotheses in zip(places, self._run([sources[place] for place in places], limit), strict=True):
                found[place] = hypotheses
        # Truncated ones come after all others, as in our own search.
        return [sorted(each, key=lambda one: (one.truncated, -one.score))[: self._config.n_best] for each in found]

    def alignments(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """As `Stepper.alignments`: a pass of our own model."""
        return self._stepper.alignments(sources, targets)

    @functools.cached_property
    def _stepper(self) -> Stepper:
        """Made once: it packs all weights."""
        return Stepper(self._models, self._device)

    def _run(self, sources: Sequence[Sequence[int]], limit: int) -> list[list[Hypothesis]]:
        pieces = self._vocabularies.target.pieces
        results = self._translator.translate_batch(
            [[self._vocabularies.source.pieces[token] for token in source] for source in sources],
            beam_size=self._config.beam_size,
            num_hypotheses=self._config.beam_size,
            length_penalty=self._config.alpha,
            patience=self._config.patience or 1.0,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            disable_unk=True,
            suppress_sequences=[[pieces[PAD]], [pieces[BOS]]],
            return_scores=True,
            return_end_token=True,
        )
        return [
            [self._hypothesis(*each) for each in zip(result.hypotheses, result.scores, strict=True)] for result in results
        ]

    def _hypothesis(self, text: Sequence[str], score: float) -> Hypothesis:
        """text: pieces, with the end token where it ended; score: log-probability / length^alpha, end token counted."""
        tokens = [self._token[piece] for piece in text]
        truncated = tokens[-1] != EOS
        total = score * len(tokens) ** self._config.alpha
        penalty = LENGTH_PENALTIES[self._config.length_penalty](len(tokens), self._config.alpha)
        return Hypothesis(tuple(tokens if truncated else tokens[:-1]), total, total / penalty, truncated)


def unsupported(config: schema.Decoding) -> list[str]:
    """The options that are set and that the runtime, or this engine, does not know."""
    usual = schema.Decoding()
    return [
        f"decoding.{name} {getattr(config, name)}: only the engine mtkit has it"
        for name in schema.Decoding.model_fields
        if name not in HONOURED and getattr(config, name) != getattr(usual, name)
    ]
