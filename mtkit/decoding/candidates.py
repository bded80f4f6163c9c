"""Which continuations of the hypotheses compete at a step of the search: the most probable ones, in one beam or in groups.

Comes in: log-probabilities of the next token for every hypothesis. Goes out: the best continuations, best first. Knows no
model and no text.

Shapes: S sentences, G groups of each, W hypotheses of a group, V pieces, T tokens so far, C candidates of a group.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.config import schema

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Live:
    """The hypotheses that go on."""

    running: Integers  # [S], numbers of the sentences
    history: Integers  # [S, G, W, T], tokens with the begin token
    sums: Floats  # [S, G, W], log-probabilities so far; -inf: no hypothesis there


@dataclass(frozen=True)
class Candidates:
    """Continuations of each group's hypotheses, best first, ties in the order of hypothesis and token; [S, G, C] each."""

    sums: Floats  # log-probabilities with the new token; -inf where there is no such candidate
    parents: Integers  # number of the continued hypothesis within its group
    tokens: Integers


class Chooser(Protocol):
    """What picks the candidates of a step."""

    groups: int
    width: int
    """Hypotheses of a group that may go on, and first candidates that may be ends."""

    def __call__(self, log_probabilities: Tensor, live: Live) -> Candidates:
        """log_probabilities [S, G, W, V] of the next token, which may be overwritten -> what may become of `live`."""


class Beams:
    """The most probable continuations: ordinary beam search, or with several groups diverse beam search.

    Twice as many as go on, so that the places of those that end are taken by the next best; greedy search has one.
    """

    def __init__(self, options: schema.Decoding) -> None:
        self.groups = options.diverse_groups
        self.width = options.beam_size // options.diverse_groups
        self._diversity = options.diversity
        self.count = 1 if self.width == 1 else 2 * self.width
        """Candidates of a group."""

    def __call__(self, log_probabilities: Tensor, live: Live) -> Candidates:
        totals = add_sums(log_probabilities, live.sums)
        sentences, groups, width, pieces = totals.shape
        flat = totals.view(sentences, groups, width * pieces)
        count = min(self.count, width * pieces)
        if groups == 1:
            values, places = top(flat[:, 0], count)
            return Candidates(values[:, None], places[:, None] // pieces, places[:, None] % pieces)
        found = self._in_turn(flat, count, pieces)
        values, places = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        return Candidates(values, places // pieces, places % pieces)

    def among(self, log_probabilities: Tensor, tokens: Tensor, live: Live) -> Candidates:
        """The same of each row's best next tokens [R, `count`], which are all that may come to be; for one group."""
        sentences, groups, width = live.sums.shape
        assert groups == 1, "groups see each other's tokens"
        numbers: Integers = tokens.cpu().numpy().reshape(sentences, -1)
        before = live.sums.reshape(sentences, width, 1)
        sums: Floats = (log_probabilities.cpu().numpy().reshape(sentences, width, -1) + before).reshape(sentences, -1)
        parents = np.broadcast_to(np.arange(width).repeat(tokens.shape[1]), sums.shape)
        order = np.lexsort((numbers, parents, -sums))[:, : self.count]
        return Candidates(
            np.take_along_axis(sums, order, 1)[:, None],
            np.take_along_axis(parents, order, 1)[:, None],
            np.take_along_axis(numbers, order, 1)[:, None],
        )

    def _in_turn(self, flat: Tensor, count: int, pieces: int) -> list[tuple[Floats, Integers]]:
        """Each group [S, W * V] sees its tokens lowered by `diversity` for each use by an earlier group at this step.

        Diverse beam search with Hamming diversity (Vijayakumar et al. 2016, section 4). Only the choice is affected.
        """
        used = flat.new_zeros(flat.shape[0], pieces)
        found = []
        for group in range(flat.shape[1]):
            lowered = flat[:, group] - (self._diversity * used).repeat(1, flat.shape[2] // pieces)
            _, places = top(lowered, count)
            chosen = torch.from_numpy(places).to(flat.device)
            values: Floats = flat[:, group].gather(1, chosen).cpu().numpy()
            found.append((values, places))
            going = chosen[:, : self.width] % pieces
            used.scatter_add_(1, going, torch.from_numpy(np.isfinite(values)).to(used)[:, : self.width])
        return found


def add_sums(log_probabilities: Tensor, sums: Floats) -> Tensor:
    """log_probabilities [S, G, W, V] with what the hypotheses [S, G, W] had before; in place."""
    return log_probabilities.add_(torch.from_numpy(sums).to(log_probabilities.device)[..., None])


def top(totals: Tensor, count: int) -> tuple[Floats, Integers]:
    """The `count` largest of each row of totals [S, M] and their places, equal values by place. [S, count] each.

    torch.topk breaks ties as it likes; one value more tells whether a tie lies across the border.
    """
    values, places = (part.cpu().numpy() for part in totals.topk(min(count + 1, totals.shape[1])))
    if values.shape[1] > count:
        border = values[:, count - 1]
        tied = np.isfinite(border) & (values[:, count] == border)
        for row in np.flatnonzero(tied).tolist():
            above = int((values[row] > border[row]).sum())
            equal = (totals[row] == border[row].item()).nonzero()[: count - above, 0]
            places[row, above:count] = equal.cpu().numpy()
        values, places = values[:, :count], places[:, :count]
    order = np.lexsort((places, -values))
    return np.take_along_axis(values, order, 1), np.take_along_axis(places, order, 1)
