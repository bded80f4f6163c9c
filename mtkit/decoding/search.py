"""Beam search: from a function that tells next-token log-probabilities to the best token sequences.

Comes in: a step function with its state, the longest allowed length of each sentence, options. Goes out: for each sentence
its hypotheses, best first. Knows no model and no text: anything that can be selected by rows is a state.

At each step all continuations of a group's live hypotheses compete. An end among the best `width` is a finished hypothesis;
the best `width` others live on. So beam 1 is the argmax loop, and a beam as wide as the tree is an enumeration. A group is
done when no live hypothesis can still become one of its best; a sentence whose groups are done leaves the batch. Ordinary
search has one group as wide as the beam, diverse search several, and sampling a group of one for each sample.

Shapes: S sentences still running, G groups, W live hypotheses of a group at most, R = S * G * W rows, C candidates, V
pieces.
"""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import BOS, EOS
from mtkit.decoding.candidates import Beams, Candidates, Chooser, Floats, Integers, Live
from mtkit.decoding.coverage import Coverage
from mtkit.decoding.length_penalties import LENGTH_PENALTIES
from mtkit.decoding.rules import Rule, no_control_tokens


class State(Protocol):
    """What a step function remembers of the tokens it has seen."""

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps hypotheses `rows` [R'] and `sentences` [S'], in that order, rows possibly repeated; None keeps all."""


AnyState = TypeVar("AnyState", bound=State)
Step = Callable[[Tensor, AnyState], Tensor]
"""step(newest tokens [R, 1], state) -> log-probabilities [R, V] of the next token, float32; updates the state.

R / S rows belong to each sentence. The search overwrites what it is given.
"""


BestStep = Callable[[Tensor, AnyState, int], tuple[Tensor, Tensor]]
"""best(newest tokens [R, 1], state, N) -> log-probabilities and numbers of each row's N most probable next tokens, best
first, no control tokens among them; [R, N] each, or fewer where there are no more. Updates the state."""


@dataclass(frozen=True)
class Hypothesis:
    """One token sequence that the search found."""

    tokens: tuple[int, ...]
    """Without begin and end tokens."""
    log_probability: float
    """Sum over the tokens and, unless truncated, the end token."""
    score: float
    """log_probability / length penalty, plus the coverage penalty if there is one. Higher is better."""
    truncated: bool
    """Stopped by the length limit instead of an end token."""

    @property
    def length(self) -> int:
        """The L of the length penalty: all tokens whose log-probability is in the sum, the end token included."""
        return len(self.tokens) + (not self.truncated)


@torch.no_grad()
def beam_search(
    step: Step[AnyState],
    state: AnyState,
    limits: Sequence[int],
    options: schema.Decoding,
    device: torch.device,
    rules: Sequence[Rule] = (),
    chooser: Chooser | None = None,
    best_of_step: BestStep[AnyState] | None = None,
) -> list[list[Hypothesis]]:
    """The `options.n_best` best hypotheses of each sentence (fewer only if there are no more), all different.

    limits: for each sentence of the state the most tokens a hypothesis may have, end token included, at least 1. Hypotheses
    that reach it without an end token are flagged and come after all others. The first does not depend on n_best. `chooser`
    is what picks the candidates of a step, by default the beam; samples come in the order drawn, and may be alike.
    """
    assert all(limit >= 1 for limit in limits), limits
    choose = chooser or Beams(options)
    found = _Found(limits, choose, options)
    coverage = Coverage(options.coverage_penalty) if options.coverage_penalty else None
    sentences, groups = len(limits), choose.groups
    live = Live(
        np.arange(sentences),
        np.full((sentences, groups, 1, 1), BOS, dtype=np.int64),
        np.zeros((sentences, groups, 1), dtype=np.float32),
    )
    while len(live.running):
        if best_of_step is None:
            best = _candidates(step, state, live, [no_control_tokens, *rules], choose, device)
        else:
            assert isinstance(choose, Beams), "the best tokens of each row are enough for a beam only"
            newest = torch.from_numpy(live.history[..., -1].reshape(-1, 1)).to(device)
            best = choose.among(*best_of_step(newest, state, choose.count), live)
        covered = None if coverage is None else coverage.after(state, best.parents, live.sums.shape)
        grown = np.concatenate(
            [np.take_along_axis(live.history, best.parents[..., None], 2), best.tokens[..., None]], axis=3
        )
        going = found.take(best, grown, live.running, None if coverage is None else coverage.penalties(covered))
        chosen = _survivors(going)
        _select(state, best.parents, chosen, width=live.sums.shape[2], device=device)
        if coverage is not None:
            coverage.keep(covered, chosen.sentences, chosen.ranks)
        sums = np.where(going, best.sums, -np.inf).astype(np.float32)
        live = Live(
            live.running[chosen.sentences],
            np.take_along_axis(grown[chosen.sentences], chosen.ranks[..., None], 2),
            np.take_along_axis(sums[chosen.sentences], chosen.ranks, 2),
        )
    return found.answers()


def _candidates(
    step: Step[AnyState], state: AnyState, live: Live, rules: Sequence[Rule], choose: Chooser, device: torch.device
) -> Candidates:
    """One step of the model, and what the rules and the chooser make of it."""
    sentences, groups, width, length = live.history.shape
    newest = torch.from_numpy(live.history[..., -1].reshape(-1, 1)).to(device)
    log_probabilities = step(newest, state)
    by_sentence = log_probabilities.view(sentences, groups * width, -1)
    for rule in rules:
        rule(by_sentence, live.history.reshape(sentences, groups * width, length), live.running)
    return choose(log_probabilities.view(sentences, groups, width, -1), live)


class _Found:
    """The finished hypotheses of all sentences, and when a group has enough."""

    def __init__(self, limits: Sequence[int], choose: Chooser, options: schema.Decoding) -> None:
        self._limits = np.array(limits, dtype=np.int64)
        self._options = options
        self._width = choose.width
        # With several groups it must not depend on n_best: each one's tokens are seen by the next.
        self._enough = options.n_best if choose.groups == 1 else choose.width
        self._penalty = LENGTH_PENALTIES[options.length_penalty]
        self._ended: list[list[list[Hypothesis]]] = [[[] for _ in range(choose.groups)] for _ in limits]
        self._truncated: list[list[list[Hypothesis]]] = [[[] for _ in range(choose.groups)] for _ in limits]

    def take(self, best: Candidates, grown: Integers, running: Integers, penalties: Floats | None) -> NDArray[np.bool_]:
        """Notes the candidates that end. Returns which go on, [S, G, C].

        grown [S, G, C, T]: the tokens of each; running [S]; penalties [S, G, C]: of the coverage, at most 0 each.
        """
        length = grown.shape[3] - 1
        possible = np.isfinite(best.sums)
        is_end = possible & (best.tokens == EOS)
        is_end[:, :, self._width :] = False
        going: NDArray[np.bool_] = possible & (best.tokens != EOS)
        going &= going.cumsum(axis=2) <= self._width
        at_limit = self._limits[running] == length
        for kind, lists in ((is_end, self._ended), (going & at_limit[:, None, None], self._truncated)):
            for place, group, rank in np.argwhere(kind).tolist():
                total = float(best.sums[place, group, rank])
                score = total / self._penalty(length, self._options.alpha)
                if penalties is not None:
                    score += float(penalties[place, group, rank])
                tokens = grown[place, group, rank, 1:-1] if kind is is_end else grown[place, group, rank, 1:]
                hypothesis = Hypothesis(tuple(tokens.tolist()), total, score, kind is not is_end)
                bisect.insort(lists[running[place]][group], hypothesis, key=lambda known: -known.score)
        highest = np.where(going, best.sums, -np.inf).max(axis=2)
        for place, group in np.argwhere(going.any(axis=2)).tolist():
            sentence = int(running[place])
            if at_limit[place] or self._has_enough(sentence, group, float(highest[place, group])):
                going[place, group] = False
        return going

    def _has_enough(self, sentence: int, group: int, highest: float) -> bool:
        """Whether no live hypothesis of the group, the best of which has the sum `highest`, is still wanted."""
        known = self._ended[sentence][group]
        if self._options.patience and len(known) >= math.ceil(self._options.patience * self._width):
            return True
        # Log-probabilities only fall, so this is what the best live hypothesis could reach at most.
        attainable = highest / self._penalty(int(self._limits[sentence]), self._options.alpha)
        return len(known) >= self._enough and known[self._enough - 1].score >= attainable

    def answers(self) -> list[list[Hypothesis]]:
        """The n best of each sentence: of several groups the best of each, then the second best of each, …"""
        return [self._answer(*groups) for groups in zip(self._ended, self._truncated, strict=True)]

    def _answer(self, ended: list[list[Hypothesis]], truncated: list[list[Hypothesis]]) -> list[Hypothesis]:
        if len(ended) == 1:
            return (ended[0] + truncated[0])[: self._options.n_best]
        if self._options.search == "sampling":
            return [(one + other)[0] for one, other in zip(ended, truncated, strict=True) if one or other]
        ranked = [(rank, one) for group in ended for rank, one in enumerate(group)]
        ranked += [(self._width + rank, one) for group in truncated for rank, one in enumerate(group)]
        ranked.sort(key=lambda each: (each[1].truncated, each[0], -each[1].score))
        distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
        for _, one in ranked:
            distinct.setdefault((one.tokens, one.truncated), one)
        return list(distinct.values())[: self._options.n_best]


@dataclass(frozen=True)
class _Survivors:
    """Which candidates live on: `sentences` [S'] of the S, and of each group the `ranks` [S', G, W'] of those that do.

    Where a group has fewer than W', the ranks of ended or impossible candidates fill the row.
    """

    sentences: Integers
    ranks: Integers


def _survivors(going: NDArray[np.bool_]) -> _Survivors:
    """going [S, G, C]: which candidates go on."""
    counts = going.sum(axis=2)
    sentences = _closed_up(np.flatnonzero(counts.any(axis=1)))
    ranks = np.argsort(~going[sentences], axis=2, kind="stable")[:, :, : counts.max(initial=0)]
    return _Survivors(sentences, ranks)


def _closed_up(sentences: Integers) -> Integers:
    """The same, those within the first places where they are; the last ones take the places of those that have left."""
    order = np.arange(len(sentences))
    stay = sentences < len(sentences)
    order[np.setdiff1d(order, sentences[stay])] = sentences[~stay]
    return order


def _select(state: State, parents: Integers, chosen: _Survivors, *, width: int, device: torch.device) -> None:
    """Makes the state follow the survivors. width: hypotheses a group had before. What stays in place is not moved."""
    sentences = chosen.sentences
    if not len(sentences):
        return
    groups = parents.shape[1]
    first = (sentences[:, None] * groups + np.arange(groups)) * width  # row of each group's first hypothesis
    rows = (first[..., None] + np.take_along_axis(parents[sentences], chosen.ranks, 2)).reshape(-1)
    same_rows = len(rows) == len(parents) * groups * width and bool((rows == np.arange(len(rows))).all())
    same_sentences = len(sentences) == len(parents)
    if not (same_rows and same_sentences):
        state.select(
            None if same_rows else torch.from_numpy(rows).to(device),
            None if same_sentences else torch.from_numpy(sentences).to(device),
        )
