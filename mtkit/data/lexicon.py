"""Which target pieces each source piece translates to, learned from numbered pairs: IBM model 1 (Brown et al. 1993, 4.2).

Comes in: the pairs of the training text. Goes out: for each source piece its most probable translations. As many pairs are
looked at as have `LINKS` links, evenly spaced, so memory is bounded whatever the size of the corpus. The first round of
expectation maximisation, with all translations alike, tells which pieces occur together; of these, each source piece keeps
the `KEPT` that belong to it most, and the rounds to come share the target out among them. Knows nothing of text.

Shapes: P pairs, S and T source and target tokens of all of them, L links of one source token and one target token of a pair,
V and W source and target pieces.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtkit.data.binarized import BLOCK, Pairs

KEPT = 200
"""Translations kept of a source piece."""

ROUNDS = 4
"""Of expectation maximisation, after the first; more hardly change which translations are the best."""

LINKS = 100_000_000
"""Looked at; about 160,000 sentences of a news corpus."""

LINKS_AT_ONCE, CELLS_AT_ONCE = 4_000_000, 1_000_000
"""Links, and cells of the table of translations, that are held in memory in full; few cells, as they are hit at random."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lexicon:
    """What target pieces source pieces translate to."""

    translations: Integers  # [V, KEPT], best first, filled up with 0
    frequent: Integers  # target pieces that occur, the most frequent first


def learn_lexicon(pairs: Pairs, sources: int, targets: int) -> Lexicon:
    """The lexicon of two vocabularies with so many pieces. A function of the pairs."""
    links = _Links(pairs, sources, targets)
    pieces, probabilities = _occurring_together(links)
    for _ in range(ROUNDS):
        probabilities = _improved(links, pieces, probabilities)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    best = np.take_along_axis(pieces, order, 1)
    best[np.take_along_axis(probabilities, order, 1) == 0.0] = 0
    frequent = np.argsort(-links.frequencies, kind="stable")
    return Lexicon(best, frequent[links.frequencies[frequent] > 0])


@dataclass(frozen=True)
class _Run:
    """The links of the source pieces `first` to `last` - 1."""

    first: int
    last: int
    places: Integers  # [L], of the target token among all
    cells: Integers  # [L], of the table [last - first, W] in one row


class _Links:
    """All links of evenly spaced pairs, by their source pieces."""

    def __init__(self, pairs: Pairs, sources: int, targets: int) -> None:
        source, target = pairs.gather(_spaced(pairs))
        source_lengths, self._lengths = (np.array(list(map(len, side)), dtype=np.int64) for side in (source, target))
        self._begins = np.cumsum(self._lengths) - self._lengths  # [P]
        tokens = np.concatenate(source)
        self.target = np.concatenate(target)  # [T]
        self.frequencies: Integers = np.bincount(self.target, minlength=targets)  # [W]
        self.rivals: Integers = np.repeat(source_lengths, self._lengths)  # [T], source tokens of the pair
        order = np.argsort(tokens, kind="stable")
        self._pairs = np.repeat(np.arange(len(source)), source_lengths)[order]  # [S]
        self._places = np.searchsorted(tokens[order], np.arange(sources + 1))  # [V + 1], where a piece's tokens begin
        links = np.concatenate([[0], np.cumsum(self._lengths[self._pairs])])
        self._before: Integers = links[self._places]  # [V + 1], links of all pieces before it
        self.sources, self._targets = sources, targets

    def runs(self) -> Iterator[_Run]:
        """All links, of as many pieces at a time as memory is meant for; of one, at least."""
        first = 0
        while first < self.sources:
            within = int(np.searchsorted(self._before, self._before[first] + LINKS_AT_ONCE, side="right")) - 1
            last = min(max(first + 1, within), first + max(1, CELLS_AT_ONCE // self._targets), self.sources)
            tokens = slice(self._places[first], self._places[last])
            of = self._pairs[tokens]
            lengths = self._lengths[of]
            ends = np.cumsum(lengths)
            places = np.repeat(self._begins[of] - (ends - lengths), lengths) + np.arange(lengths.sum())
            rows = np.repeat(np.arange(last - first), np.diff(self._before[first : last + 1]))
            yield _Run(first, last, places, rows * self._targets + self.target[places])
            first = last

    def table(self, run: _Run, weights: Floats) -> Floats:
        """The sums of the weights [L] of a run's links for each of its source pieces and target piece [last - first, W]."""
        size = run.last - run.first, self._targets
        sums = np.bincount(run.cells, weights=weights, minlength=size[0] * size[1])
        return np.asarray(sums, dtype=np.float64).reshape(size)


def _spaced(pairs: Pairs) -> Integers:
    """Numbers of the pairs to look at."""
    links = 0
    for first in range(0, len(pairs), BLOCK):
        source, target = pairs.lengths(first, min(first + BLOCK, len(pairs)))
        links += int(source.astype(np.int64) @ target)
    count = min(len(pairs), max(1, len(pairs) * LINKS // max(1, links)))
    spaced: Integers = np.arange(count) * len(pairs) // count
    return spaced


def _occurring_together(links: _Links) -> tuple[Integers, Floats]:
    """The pieces that belong most to each source piece, and what share of its translations each is; [V, KEPT] both.

    They are chosen by the square of how often both occur together, divided by how often each of them does: so those that
    occur with everything do not crowd out those that seldom occur but with this one.
    """
    pieces: Integers = np.zeros((links.sources, KEPT), dtype=np.int64)
    shares: Floats = np.zeros((links.sources, KEPT))
    for run in links.runs():
        together = links.table(run, 1.0 / links.rivals[run.places])
        rows, columns = together.nonzero()
        counts = together[rows, columns]
        order = np.lexsort((columns, -np.square(counts) / links.frequencies[columns], rows))
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        kept = ranks < KEPT
        rows, ranks, order = rows[kept] + run.first, ranks[kept], order[kept]
        pieces[rows, ranks], shares[rows, ranks] = columns[order], counts[order]
    return pieces, _normalised(shares)


def _improved(links: _Links, pieces: Integers, probabilities: Floats) -> Floats:
    """One round: each target token is shared out among the source tokens of its pair, by the probabilities [V, KEPT]."""
    # The empty word of the model: what no source token explains is not forced upon one.
    totals = links.frequencies[links.target] / len(links.target)  # [T]
    for run in links.runs():
        np.add.at(totals, run.places, _of_links(links, run, pieces, probabilities))
    improved = []
    for run in links.runs():
        shares = _of_links(links, run, pieces, probabilities) / totals[run.places]
        improved.append(_normalised(np.take_along_axis(links.table(run, shares), pieces[run.first : run.last], 1)))
    return np.concatenate(improved)


def _of_links(links: _Links, run: _Run, pieces: Integers, probabilities: Floats) -> Floats:
    """The probability of each link's target piece, given its source piece [L]."""
    table = np.zeros((run.last - run.first, len(links.frequencies)))
    np.put_along_axis(table, pieces[run.first : run.last], probabilities[run.first : run.last], 1)
    found: Floats = table.reshape(-1)[run.cells]
    return found


def _normalised(counts: Floats) -> Floats:
    """The rows divided by their sums; rows of zeros stay so."""
    shares: Floats = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return shares
