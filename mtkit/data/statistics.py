"""What a report tells of a prepared split: tokens, lengths, coverage of the vocabulary, where the lines come from.

Comes in: the pairs that were kept, chunk by chunk. Goes out: a `SplitReport`, and the `Coverage` of a vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtkit.data.binarized import Rows
from mtkit.data.chunks import FirstPass
from mtkit.data.corpus import Corpus
from mtkit.data.folder import BIN, BINS, SELDOM, Coverage, PartReport, SplitReport
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import UNK, Vocabulary
from mtkit.support.files import sha256

Numbers = NDArray[np.int64]


class SplitStatistics:
    """Adds up one split."""

    def __init__(self, corpus: Corpus, first: FirstPass, vocabularies: Vocabularies) -> None:
        self._corpus = corpus
        self._first = first
        self._vocabularies = (vocabularies.source, vocabularies.target)
        self.pieces: list[Numbers] = [np.zeros(len(one), np.int64) for one in self._vocabularies]
        """How often each piece occurs on each side."""
        self._lengths: list[Numbers] = [np.zeros(BINS, np.int64) for _ in range(2)]
        self._characters = [0, 0]
        self._kept: Numbers = np.zeros(len(corpus.parts), np.int64)
        self._digests: list[str] = []

    def add(self, source: Rows, target: Rows, texts: Sequence[Sequence[str]], parts: Numbers) -> None:
        """Pairs as numbers and as text, and the part that each comes from."""
        for side, rows in enumerate((source, target)):
            self.pieces[side] += np.bincount(rows.tokens, minlength=len(self.pieces[side]))
            bars = np.minimum(np.maximum(rows.lengths - 1, 0) // BIN, BINS - 1)
            self._lengths[side] += np.bincount(bars, minlength=BINS)
            self._characters[side] += sum(map(len, texts[side]))
        self._kept += np.bincount(parts, minlength=len(self._kept))

    def finish(self, source: Path, target: Path) -> None:
        """The files with the final text."""
        self._digests = [sha256(source), sha256(target)]

    def report(self) -> SplitReport:
        """All there is to tell. Only once training is through is it known what it gives away of this split."""
        counts = self._first.tally.counts(sum(part.byte_order_marks for part in self._corpus.parts))
        training = self._corpus.split == "train"
        tokens = [int(pieces.sum()) for pieces in self.pieces]
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
                for part, kept, runs in zip(self._corpus.parts, self._kept, self._first.misaligned, strict=True)
            ),
            counts=counts,
            lines=counts.kept,
            source_tokens=tokens[0],
            target_tokens=tokens[1],
            unknown_tokens=sum(int(pieces[UNK]) for pieces in self.pieces),
            source_sha256=self._digests[0],
            target_sha256=self._digests[1],
            source_characters=self._characters[0],
            target_characters=self._characters[1],
            byte_tokens=sum(map(_bytes, self._vocabularies, self.pieces)),
            source_lengths=_bars(self._lengths[0]),
            target_lengths=_bars(self._lengths[1]),
            examples=self._first.tally.worst(),
            given_away={} if training else self._first.held_out.given_away(self._corpus.split),
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
