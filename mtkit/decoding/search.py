"""Beam search: from a function that tells next-token log-probabilities to the best token sequences.

Comes in: a step function with its state, the longest allowed length of each sentence, options. Goes out: for each sentence
its hypotheses, best first. Knows no model and no text: anything that can be selected by rows is a state.

At each step all continuations of a sentence's live hypotheses compete and the best `beam_size` stay; those among them that
end leave the beam, the others live on. So beam 1 is the argmax loop, and a beam as wide as the tree is an enumeration. A
sentence is done when no live hypothesis can still become one of its n best; then it leaves the batch.

Shapes: S sentences still running, K live hypotheses a sentence at most, R = S * K rows, V pieces, N = beam_size.
"""

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK
from mtkit.decoding.length_penalties import LENGTH_PENALTIES

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


class State(Protocol):
    """What a step function remembers of the tokens it has seen."""

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps hypotheses `rows` [R'] and `sentences` [S'], in that order, rows possibly repeated; None keeps all."""


AnyState = TypeVar("AnyState", bound=State)
Step = Callable[[Tensor, AnyState], Tensor]
"""step(newest tokens [R, 1], state) -> log-probabilities [R, V] of the next token, float32; updates the state."""


BestStep = Callable[[Tensor, AnyState, int], tuple[Tensor, Tensor]]
"""best(newest tokens [R, 1], state, count) -> log-probabilities and numbers of each row's most probable next tokens, no
control tokens among them; [R, count] each, or fewer where there are no more. Otherwise as a step."""


@dataclass(frozen=True)
class Hypothesis:
    """One token sequence that the search found."""

    tokens: tuple[int, ...]
    """Without begin and end tokens."""
    log_probability: float
    """Sum over the tokens and, unless truncated, the end token."""
    score: float
    """log_probability / length penalty. Higher is better."""
    truncated: bool
    """Stopped by the length limit instead of an end token."""

    @property
    def length(self) -> int:
        """The L of the length penalty: all tokens whose log-probability is in the sum, the end token included."""
        return len(self.tokens) + (not self.truncated)


@dataclass(frozen=True)
class _Candidates:
    """The best continuations of each sentence, best first, ties in the order of hypothesis and token; [S, K'] each."""

    sums: Floats  # log-probabilities so far; -inf where there is no such candidate
    parents: Integers  # number of the continued hypothesis within its sentence
    tokens: Integers


@torch.no_grad()
def beam_search(
    step: Step[AnyState],
    state: AnyState,
    limits: Sequence[int],
    options: schema.Decoding,
    device: torch.device,
    best_of_step: BestStep[AnyState] | None = None,
) -> list[list[Hypothesis]]:
    """The `options.n_best` best hypotheses of each sentence (fewer only if there are no more), all different.

    limits: for each sentence of the state the most tokens a hypothesis may have, end token included, at least 1. Hypotheses
    that reach it without an end token are flagged and come after all others. The first does not depend on n_best.
    """
    penalty = LENGTH_PENALTIES[options.length_penalty]
    ended: list[list[Hypothesis]] = [[] for _ in limits]
    truncated: list[list[Hypothesis]] = [[] for _ in limits]
    running = np.arange(len(limits))
    ends = np.array(limits, dtype=np.int64)
    assert (ends >= 1).all(), limits
    history = np.full((len(limits), 1, 1), BOS, dtype=np.int64)  # [S, K, tokens so far]
    sums = np.zeros((len(limits), 1), dtype=np.float32)  # [S, K]; -inf: no hypothesis there
    length = 0
    while len(running):
        length += 1
        newest = torch.from_numpy(history[:, :, -1].reshape(-1, 1)).to(device)
        if best_of_step is None:
            best = _continue(step(newest, state), sums, options.beam_size)
        else:
            best = _among(*best_of_step(newest, state, options.beam_size + 1), sums, options.beam_size)
        grown = np.concatenate([np.take_along_axis(history, best.parents[..., None], 1), best.tokens[..., None]], axis=2)

        found = np.isfinite(best.sums)
        is_end = found & (best.tokens == EOS)
        for place, rank in np.argwhere(is_end).tolist():
            tokens, total = grown[place, rank, 1:-1], float(best.sums[place, rank])
            hypothesis = Hypothesis(tuple(tokens.tolist()), total, total / penalty(length, options.alpha), False)
            bisect.insort(ended[running[place]], hypothesis, key=lambda known: -known.score)

        live = found & ~is_end
        best_live = np.where(live, best.sums, -np.inf).max(axis=1)
        done = ends[running] == length
        for place, rank in np.argwhere(live & done[:, None]).tolist():
            total = float(best.sums[place, rank])
            score = total / penalty(length, options.alpha)
            truncated[running[place]].append(Hypothesis(tuple(grown[place, rank, 1:].tolist()), total, score, True))
        for place, sentence in enumerate(running.tolist()):
            # Log-probabilities only fall, so this is what the best live hypothesis could reach at most.
            attainable = float(best_live[place]) / penalty(limits[sentence], options.alpha)
            known = ended[sentence]
            enough = len(known) >= options.n_best and known[options.n_best - 1].score >= attainable
            done[place] |= enough or not live[place].any()

        chosen = _survivors(live & ~done[:, None])
        _select(state, best.parents, chosen, width=sums.shape[1], device=device)
        running = running[chosen.sentences]
        history = grown[chosen.sentences[:, None], chosen.ranks]
        sums = np.where(live, best.sums, -np.inf)[chosen.sentences[:, None], chosen.ranks]
    return [(ended[sentence] + truncated[sentence])[: options.n_best] for sentence in range(len(limits))]


def _continue(log_probabilities: Tensor, sums: Floats, beam_size: int) -> _Candidates:
    """log_probabilities [R, V] of the next token and sums [S, K] of the hypotheses -> their best continuations."""
    sentences, width = sums.shape
    pieces = log_probabilities.shape[1]
    totals = log_probabilities + torch.from_numpy(sums).to(log_probabilities.device).view(-1, 1)
    totals[:, [PAD, BOS, UNK]] = -torch.inf
    values, places = _top(totals.view(sentences, width * pieces), min(beam_size, width * pieces))
    return _Candidates(values, places // pieces, places % pieces)


def _among(log_probabilities: Tensor, tokens: Tensor, sums: Floats, beam_size: int) -> _Candidates:
    """The same of the most probable next tokens [R, N] of each row, which are all that may come to be."""
    sentences, width = sums.shape
    numbers: Integers = tokens.cpu().numpy().reshape(sentences, -1)
    totals = (log_probabilities.cpu().numpy().reshape(sentences, width, -1) + sums[..., None]).reshape(sentences, -1)
    parents = np.repeat(np.arange(width), tokens.shape[1])[None].repeat(sentences, axis=0)
    order = np.lexsort((numbers, parents, -totals))[:, :beam_size]
    return _Candidates(
        np.take_along_axis(totals, order, 1), np.take_along_axis(parents, order, 1), np.take_along_axis(numbers, order, 1)
    )


def _top(totals: Tensor, count: int) -> tuple[Floats, Integers]:
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


@dataclass(frozen=True)
class _Survivors:
    """Which candidates live on: `sentences` [S'] of the S, and of each the `ranks` [S', K'] of its live candidates.

    Where a sentence has fewer than K', the ranks of ended or impossible candidates fill the row.
    """

    sentences: Integers
    ranks: Integers


def _survivors(live: NDArray[np.bool_]) -> _Survivors:
    """live [S, K]: which candidates go on."""
    counts = live.sum(axis=1)
    sentences = np.flatnonzero(counts)
    ranks = np.argsort(~live[sentences], axis=1, kind="stable")[:, : counts.max(initial=0)]
    return _Survivors(sentences, ranks)


def _select(state: State, parents: Integers, chosen: _Survivors, *, width: int, device: torch.device) -> None:
    """Makes the state follow the survivors. width: hypotheses a sentence had before. What stays in place is not moved."""
    sentences = chosen.sentences
    if not len(sentences):
        return
    rows = (sentences[:, None] * width + parents[sentences[:, None], chosen.ranks]).reshape(-1)
    same_rows = len(rows) == len(parents) * width and bool((rows == np.arange(len(rows))).all())
    same_sentences = len(sentences) == len(parents)
    if not (same_rows and same_sentences):
        state.select(
            None if same_rows else torch.from_numpy(rows).to(device),
            None if same_sentences else torch.from_numpy(sentences).to(device),
        )
