"""What a report tells of a prepared split: tokens, lengths, coverage of the vocabulary, where the lines come from.

Comes in: the pairs that were kept, chunk by chunk. Goes out: a `SplitReport`, and the `Coverage` of a vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mtkit.data.binarized import Rows
from mtkit.data.chunks import Findings
from mtkit.data.corpus import Corpus
from mtkit.data.counting import Tally
from mtkit.data.folder import BIN, BINS, SELDOM, Coverage, PartReport, SplitReport
from mtkit.data.stages import Kept
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import UNK, Vocabulary

Numbers = NDArray[np.int64]


@dataclass
class SplitStatistics:
    """Adds up one split: for source and target each, how often each piece and each length occur, and the characters."""

    parts: int
    pieces: list[Kept] = field(default_factory=list)
    lengths: list[Kept] = field(default_factory=lambda: [np.zeros(BINS, np.int64) for _ in range(2)])
    characters: list[int] = field(default_factory=lambda: [0, 0])
    kept: Kept = field(default_factory=lambda: np.zeros(0, np.int64))  # pairs of each part

    def add(self, source: Rows, target: Rows, characters: Numbers, parts: Numbers, vocabularies: Vocabularies) -> None:
        """n pairs as numbers, the characters of their sides [n, 2], and the part that each comes from [n]."""
        if not self.pieces:
            self.pieces = [np.zeros(len(one), np.int64) for one in (vocabularies.source, vocabularies.target)]
            self.kept = np.zeros(self.parts, np.int64)
        for side, rows in enumerate((source, target)):
            self.pieces[side] += np.bincount(rows.tokens, minlength=len(self.pieces[side]))
            bars = np.minimum(np.maximum(rows.lengths - 1, 0) // BIN, BINS - 1)
            self.lengths[side] += np.bincount(bars, minlength=BINS)
            self.characters[side] += int(characters[:, side].sum())
        self.kept += np.bincount(parts, minlength=self.parts)

    def report(
        self,
        corpus: Corpus,
        findings: Findings,
        tally: Tally,
        vocabularies: Vocabularies,
        sha256: tuple[str, str],
        given_away: Mapping[str, int],
    ) -> SplitReport:
        """All there is to tell of a split: `tally` of both passes, hashes of its text, what training gives away of it."""
        counts = tally.counts(sum(part.byte_order_marks for part in corpus.parts))
        tokens = [int(pieces.sum()) for pieces in self.pieces]
        sides = (vocabularies.source, vocabularies.target)
        return SplitReport(
            parts=tuple(
                PartReport(
                    source=part.source,
                    target=part.target,
                    pairs=part.pairs,
                    kept=int(kept),
                    weight=part.weight,
                    tag=part.tag,
                    misaligned=tuple((run.first, run.last) for run in runs),
                )
                for part, kept, runs in zip(corpus.parts, self.kept, findings.misaligned(), strict=True)
            ),
            counts=counts,
            lines=counts.kept,
            source_tokens=tokens[0],
            target_tokens=tokens[1],
            unknown_tokens=sum(int(pieces[UNK]) for pieces in self.pieces),
            source_sha256=sha256[0],
            target_sha256=sha256[1],
            source_characters=self.characters[0],
            target_characters=self.characters[1],
            byte_tokens=sum(map(_bytes, sides, self.pieces)),
            source_lengths=_bars(self.lengths[0]),
            target_lengths=_bars(self.lengths[1]),
            examples=tally.worst(),
            given_away=dict(given_away),
        )


def _bytes(vocabulary: Vocabulary, pieces: Numbers) -> int:
    first = vocabulary.first_byte
    return 0 if first is None else int(pieces[first : first + 256].sum())


def _bars(lengths: Numbers) -> tuple[int, ...]:
    """Without the empty bars at the end."""
    return tuple(lengths[: int(np.flatnonzero(lengths).max(initial=-1)) + 1].tolist())


def coverage(vocabularies: Vocabularies, training: SplitStatistics) -> tuple[Coverage, ...]:
    """How the training text uses each vocabulary: its learned pieces, tags and symbols."""
    if vocabularies.shared:
        return (_coverage("both", vocabularies.target, training.pieces[0] + training.pieces[1]),)
    sides = zip(("source", "target"), (vocabularies.source, vocabularies.target), training.pieces, strict=True)
    return tuple(_coverage(*side) for side in sides)


def _coverage(side: str, vocabulary: Vocabulary, pieces: Numbers) -> Coverage:
    counted = [count for token, count in enumerate(pieces.tolist()) if token > UNK and not vocabulary.is_byte(token)]
    used = sum(count > 0 for count in counted)
    return Coverage(side=side, pieces=len(counted), used=used, seldom=sum(0 < count < SELDOM for count in counted))
