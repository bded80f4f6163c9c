"""What a hypothesis may not go on with, as rules that put -inf in place of log-probabilities.

Comes in: log-probabilities of the next token and the tokens so far. Goes out: the same, lowered in place. Knows no model and
no text; what needs text is in `constraints`.

Shapes: S sentences, H hypotheses of each, V pieces, T tokens so far, begin token included.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK
from mtkit.decoding.candidates import Integers


class Rule(Protocol):
    """One kind of ban."""

    def __call__(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        """log_probabilities [S, H, V], history [S, H, T], running [S]: numbers of the sentences."""


def no_control_tokens(log_probabilities: Tensor, history: Integers, running: Integers) -> None:
    """Padding, begin and unknown are no output."""
    log_probabilities[:, :, [PAD, BOS, UNK]] = -torch.inf


class Prefixes:
    """Each sentence begins with given tokens."""

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self._prefixes = prefixes

    def __call__(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        place = history.shape[2] - 1
        for row, sentence in enumerate(running.tolist()):
            if place < len(self._prefixes[sentence]):
                token = self._prefixes[sentence][place]
                kept = log_probabilities[row, :, token].clone()
                log_probabilities[row] = -torch.inf
                log_probabilities[row, :, token] = kept


class ShortestLengths:
    """No sentence ends before it has so many tokens, the end token included."""

    def __init__(self, shortest: Sequence[int]) -> None:
        self._shortest = np.array(shortest, dtype=np.int64)

    def __call__(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        early = np.flatnonzero(self._shortest[running] > history.shape[2])
        if len(early):
            log_probabilities[torch.from_numpy(early).to(log_probabilities.device), :, EOS] = -torch.inf


class NoRepeats:
    """No `size` tokens in a row come twice in a hypothesis; not counting its first ones, as many as `begins` says."""

    def __init__(self, size: int, begins: Sequence[int]) -> None:
        self._size = size
        self._begins = np.array(begins, dtype=np.int64)  # [all sentences]

    def __call__(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        tokens = history[:, :, 1:]
        if tokens.shape[2] < self._size:
            return
        runs = np.lib.stride_tricks.sliding_window_view(tokens, self._size, axis=2)  # [S, H, runs, size]
        newest = tokens[:, :, None, tokens.shape[2] - self._size + 1 :]  # what a repetition would begin with
        free = self._begins[running] <= tokens.shape[2]
        rows, hypotheses, starts = np.nonzero((runs[..., :-1] == newest).all(-1) & free[:, None, None])
        banned = runs[rows, hypotheses, starts, -1]
        places = (torch.from_numpy(part).to(log_probabilities.device) for part in (rows, hypotheses, banned))
        log_probabilities[tuple(places)] = -torch.inf


def rules_for(options: schema.Decoding, shortest: Sequence[int], prefixes: Sequence[Sequence[int]]) -> list[Rule]:
    """The rules that `options` ask for; shortest, prefixes: of each sentence, the prefix empty where there is none."""
    rules: list[Rule] = []
    if any(length > 1 for length in shortest):
        rules.append(ShortestLengths(shortest))
    if options.no_repeat_ngram:
        rules.append(NoRepeats(options.no_repeat_ngram, [len(prefix) for prefix in prefixes]))
    if any(prefixes):
        rules.append(Prefixes(prefixes))
    return rules
