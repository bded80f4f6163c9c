"""Pairs that were there before, and training pairs that are also held out for validation or test.

Comes in: the text of pairs, chunk by chunk. Goes out: which of them to leave out, and how many held-out lines training text
gives away. Texts are known by 64-bit hashes, eight bytes each: among 300 million the chance of one mistake is 0.3 %.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PairHashes:
    """Hashes of n pairs: of both sides together, of their sources, of their targets."""

    pairs: Hashes
    sources: Hashes
    targets: Hashes

    @classmethod
    def of(cls, source: Sequence[str], target: Sequence[str]) -> "PairHashes":
        """Those of cleaned text."""
        both = (f"{a}\n{b}" for a, b in zip(source, target, strict=True))
        return cls(*(_hashes(texts, len(source)) for texts in (both, source, target)))


def _hashes(texts: Iterable[str], count: int) -> Hashes:
    numbers = (xxhash.xxh3_64_intdigest(text.encode()) for text in texts)
    return np.fromiter(numbers, dtype=np.uint64, count=count)


class Seen:
    """All hashes that went by: sorted runs of growing length, so that a look costs little and nothing is kept twice."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

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
    """Pairs of validation and test, to be met again in training, and which of them were."""

    def __init__(self) -> None:
        self._hashes: dict[str, PairHashes] = {}
        self._all: dict[str, Hashes] = {}
        self._met: dict[str, Hashes] = {side: np.empty(0, np.uint64) for side in ("pairs", "sources", "targets")}

    def add(self, split: str, hashes: PairHashes) -> None:
        """More lines of `split`."""
        before = self._hashes.get(split)
        if before is not None:
            both = ((getattr(before, side), getattr(hashes, side)) for side in self._met)
            hashes = PairHashes(*map(np.concatenate, both))
        self._hashes[split] = hashes
        for side in self._met:
            self._all[side] = np.unique(np.concatenate([getattr(one, side) for one in self._hashes.values()]))

    def meet(self, hashes: PairHashes) -> dict[str, Mask]:
        """Which of these training pairs are held out: as pairs, by their source, by their target."""
        masks = {}
        for side, met in self._met.items():
            mine, held = getattr(hashes, side), self._all.get(side, met)
            masks[side] = mask = np.isin(mine, held)
            if mask.any():
                self._met[side] = np.union1d(met, mine[mask])
        return masks

    def given_away(self, split: str) -> dict[str, int]:
        """How many lines of `split` were met in training: as pairs, their source, their target."""
        hashes = self._hashes[split]
        return {side: int(np.isin(getattr(hashes, side), met).sum()) for side, met in self._met.items()}
