"""The coverage penalty: hypotheses that leave parts of the source unattended score less (Wu et al. 2016, equation 14).

Comes in: how much each step attended to each source token. Goes out: beta * sum over source tokens of log(min(attention in
all, 1)), at most 0, for each hypothesis. Knows no model.

Shapes: S sentences, G groups, W hypotheses of a group, C candidates, L source tokens.
"""

from typing import Protocol, cast

import numpy as np

from mtkit.decoding.candidates import Floats, Integers

LEAST = 1e-6
"""Attention below it counts as this much: a logarithm must be finite."""


class Attentive(Protocol):
    """A state that tells what the latest step looked at."""

    @property
    def attention(self) -> Floats:
        """[R, L], at least 0; 1 where there is nothing to look at."""


class Coverage:
    """Attention that live hypotheses have paid so far, summed over their tokens."""

    def __init__(self, strength: float) -> None:
        self._strength = strength
        self._paid: Floats | None = None  # [S, G, W, L]

    def after(self, state: object, parents: Integers, shape: tuple[int, ...]) -> Floats:
        """[S, G, C, L]: what the candidates with `parents` [S, G, C] have paid, the latest step included.

        shape: [S, G, W] of the hypotheses that this step was made for.
        """
        latest = cast("Attentive", state).attention
        paid = latest.reshape(*shape, latest.shape[-1])
        if self._paid is not None:
            paid = paid + self._paid
        return np.take_along_axis(paid, parents[..., None], 2)

    def penalties(self, covered: Floats | None) -> Floats:
        """covered [S, G, C, L] -> [S, G, C]."""
        assert covered is not None
        logarithms: Floats = np.log(np.clip(covered, LEAST, 1.0)).sum(axis=-1)
        return self._strength * logarithms

    def keep(self, covered: Floats | None, sentences: Integers, ranks: Integers) -> None:
        """Of what `after` told, that of the survivors: sentences [S'], ranks [S', G, W']."""
        assert covered is not None
        self._paid = np.take_along_axis(covered[sentences], ranks[..., None], 2)
