"""Beam search with required phrases: hypotheses that have more of them, or fewer, do not push each other out of the beam.

Comes in: candidates, and what each still lacks. Goes out: the candidates in another order. Knows no model and no text.
Dynamic beam allocation (Post and Vilar 2018), but where the beam has too few places, the banks compete by their best
candidate.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import EOS
from mtkit.decoding.candidates import Beams, Candidates, Integers, Live
from mtkit.decoding.constraints import Required

Candidate = tuple[float, int, int]
"""Sum, continued hypothesis, token."""


class SteeredBeams(Beams):
    """`Beams` that give each stage of the required phrases a place. A beam of one has none to give: `insist` sees to it."""

    def __init__(self, options: schema.Decoding, required: Required) -> None:
        super().__init__(options)
        assert self.groups == 1, "constraints and groups have not been put together"
        self._required = required

    def __call__(self, log_probabilities: Tensor, live: Live) -> Candidates:
        """As `Chooser` says."""
        best = super().__call__(log_probabilities, live)  # which leaves the totals in log_probabilities
        if self.width == 1:
            return best
        offered: dict[int, list[Candidate]] = {}
        if self._required.offers:
            rows, hypotheses, tokens = places = np.array(self._required.offers, dtype=np.int64).T
            device = log_probabilities.device
            at = [torch.from_numpy(part).to(device) for part in places]
            values = log_probabilities[at[0], 0, at[1], at[2]].cpu().numpy()
            possible = np.isfinite(live.sums[rows, 0, hypotheses])
            for row, *one in zip(*(part[possible].tolist() for part in (rows, values, hypotheses, tokens)), strict=True):
                offered.setdefault(row, []).append((one[0], one[1], one[2]))
        for row, sentence in enumerate(live.running.tolist()):
            if self._required.steers(sentence):
                self._steer(best, row, sentence, live.history[row, 0], offered.get(row, []))
        return best

    def _steer(self, best: Candidates, row: int, sentence: int, history: Integers, offered: Iterable[Candidate]) -> None:
        """Puts the candidates of one sentence in another order, those offered among them.

        First the best of those that lack least; then the best of each other bank, by score; then the rest.
        """
        keys = list(map(tuple, history[:, 1:].tolist()))
        if all(self._required.settled(sentence, key) for key in keys):
            return
        parts: tuple[NDArray[Any], ...] = (best.sums[row, 0], best.parents[row, 0], best.tokens[row, 0])
        found: set[Candidate] = set(zip(*(part.tolist() for part in parts), strict=True)) | set(offered)
        ranked = sorted((one for one in found if np.isfinite(one[0])), key=lambda one: (-one[0], one[1], one[2]))
        banks: dict[int, Candidate] = {}
        for one in ranked:
            banks.setdefault(self._required.lacking(sentence, keys[one[1]], one[2]), one)
        leaders = sorted(banks.values(), key=lambda one: -one[0])
        chosen = list(dict.fromkeys([*(banks[least] for least in sorted(banks)[:1]), *leaders, *ranked]))
        count = best.sums.shape[2]
        chosen = (chosen + [(-np.inf, 0, EOS)] * count)[:count]
        for part, values in zip(parts, zip(*chosen, strict=True), strict=True):
            part[:] = values
