"""Pairs that were there before, and training pairs that are also held out for validation or test.

Comes in: the text of pairs, chunk by chunk. Goes out: which of them to leave out, and how many held-out lines training text
gives away. Texts are known by 64-bit hashes, eight bytes each: among 300 million the chance of one mistake is 0.3 %.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import xxhash
from numpy.typing import NDArray

from mtkit.data.stages import Kept

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]

SIDES = ("pairs", "sources", "targets")
NOTHING: Hashes = np.empty(0, np.uint64)


@dataclass(frozen=True)
class PairHashes:
    """Hashes of n pairs: of both sides together, of their sources, of their targets."""

    pairs: Kept
    sources: Kept
    targets: Kept

    @classmethod
    def joined(cls, pieces: "Iterable[PairHashes]") -> "PairHashes":
        """All of them, one after another."""
        found = list(pieces)
        return cls(*(np.concatenate([NOTHING, *(getattr(one, side) for one in found)]) for side in SIDES))

    @classmethod
    def of(cls, source: Sequence[str], target: Sequence[str]) -> "PairHashes":
        """Those of cleaned text."""
        both = (f"{a}\n{b}" for a, b in zip(source, target, strict=True))
        return cls(*(_hashes(texts, len(source)) for texts in (both, source, target)))


def _hashes(texts: Iterable[str], count: int) -> Hashes:
    numbers = (xxhash.xxh3_64_intdigest(text.encode()) for text in texts)
    return np.fromiter(numbers, dtype=np.uint64, count=count)


@dataclass
class Seen:
    """All hashes that went by: sorted runs of growing length, so that a look costs little and nothing is kept twice."""

    _runs: list[Kept] = field(default_factory=list)

    def again(self, hashes: Hashes) -> Mask:
        """True where a hash was there before, in this chunk or an earlier one."""
        _, first = np.unique(hashes, return_index=True)
        known = np.ones(len(hashes), dtype=bool)
        known[first] = False
        for run in self._runs:
            places = np.searchsorted(run, hashes).clip(max=len(run) - 1)
            known |= run[places] == hashes
        return known

    def add(self, hashes: Hashes) -> None:
        """These will have been there; they must be new."""
        run = np.sort(hashes)
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort()
        if len(run):
            self._runs.append(run)


class HeldOut:
    """Pairs of validation and test, to be met again in training."""

    def __init__(self) -> None:
        self._hashes: list[PairHashes] = []
        self._all: dict[str, Hashes] = {}

    def add(self, hashes: PairHashes) -> None:
        """The lines of a split."""
        self._hashes.append(hashes)
        for side in SIDES:
            self._all[side] = np.unique(np.concatenate([getattr(one, side) for one in self._hashes]))

    def meet(self, hashes: PairHashes, met: dict[str, Kept]) -> dict[str, Mask]:
        """Which of these training pairs are held out: as pairs, by their source, by their target.

        What was met is added to `met`.
        """
        masks = {}
        for side in SIDES:
            mine, before = getattr(hashes, side), met.get(side, NOTHING)
            masks[side] = mask = np.isin(mine, self._all.get(side, NOTHING))
            if mask.any():
                met[side] = np.union1d(before, mine[mask])
        return masks


def given_away(hashes: PairHashes, met: dict[str, Kept]) -> dict[str, int]:
    """How many lines of a split were met in training: as pairs, their source, their target."""
    return {side: int(np.isin(getattr(hashes, side), met.get(side, NOTHING)).sum()) for side in SIDES}
