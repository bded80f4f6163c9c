"""The first pass over a split: its pairs in chunks, cleaned by workers, and what only the whole order can tell.

Comes in: a corpus. Goes out: cleaned chunks without what was there before or is held out, with all counts. Knows nothing of
folders or of vocabularies.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import xxhash
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.alignment import AlignmentWatch, Run
from mtkit.data.cleaning import Cleaner, example, in_capitals
from mtkit.data.corpus import Corpus, SentencePair
from mtkit.data.counting import Tally
from mtkit.data.duplicates import HeldOut, Mask, PairHashes, Seen
from mtkit.data.normalisation import NORMALISATIONS
from mtkit.data.readers import Part
from mtkit.data.stages import Kept
from mtkit.data.workers import in_order

Lengths = NDArray[np.int32]

MOST_WORDS = 10_000_000
"""Different words counted at most: of more, those that occurred once so far are forgotten."""


@dataclass(frozen=True)
class RawChunk:
    """Neighbouring pairs of one part as read."""

    source_name: str
    target_name: str
    first: int  # line of the first pair in its part, from 1
    before: int  # lines of the split before it
    source: Sequence[str]
    target: Sequence[str]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def span(self) -> tuple[int, int]:
        """First and last corpus line."""
        return self.before + 1, self.before + len(self)


@dataclass(frozen=True)
class CleanedChunk:
    """What is left of a chunk, n pairs, and what was counted."""

    source: list[str]
    target: list[str]
    lines: NDArray[np.int64]  # [n] corpus line of each, from 1 over the whole split
    hashes: PairHashes  # [n]
    tally: Tally
    words: tuple[Counter[str], ...]  # of both sides in one, or of each; empty outside training
    lengths: tuple[Lengths, Lengths]  # characters of both sides of all pairs, dropped or not

    def __len__(self) -> int:
        """How many pairs the chunk had."""
        return len(self.lengths[0])


@dataclass(frozen=True)
class Clean:
    """What a worker does with a chunk."""

    config: schema.Cleaning
    training: bool
    normalization: str
    languages: frozenset[str]
    vocabularies: int  # how many are learned: 1 or 2
    symbols: tuple[str, ...] = ()  # texts that are one piece, and stay as they are

    def __call__(self, chunk: RawChunk) -> CleanedChunk:
        cleaner = Cleaner(self.config, training=self.training, normalization=self.normalization, languages=self.languages)
        part = Part(chunk.source_name, chunk.target_name, 0, 0, lambda: iter(()))
        kept: list[SentencePair] = []
        lines = []
        for number, (source, target) in enumerate(zip(chunk.source, chunk.target, strict=True)):
            line = chunk.before + 1 + number
            pair = cleaner.clean(SentencePair(source, target, chunk.first + number, part), line)
            if pair is not None:
                kept.append(pair)
                lines.append(line)
        sources, targets = [pair.source for pair in kept], [pair.target for pair in kept]
        compared = targets if self.training else [cleaner.as_compared(target) for target in targets]
        hashes = PairHashes.of(sources, compared)  # repeats are told by the text as it was
        if self.training and self.config.capitals:
            for place, line in enumerate(lines):
                if _share(line) < self.config.capitals:
                    sources[place], targets[place] = self._in_capitals(sources[place]), self._in_capitals(targets[place])
                    cleaner.tally.changed["capitals"] += 1
        return CleanedChunk(
            sources,
            targets,
            np.array(lines, dtype=np.int64),
            hashes,
            cleaner.tally,
            self._words(sources, targets),
            (_characters(chunk.source), _characters(chunk.target)),
        )

    def _in_capitals(self, text: str) -> str:
        return NORMALISATIONS[self.normalization].treat(in_capitals(text, self.symbols))

    def _words(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Counter[str], ...]:
        words: tuple[Counter[str], ...] = tuple(Counter() for _ in range(self.vocabularies))
        if self.training:
            for source, target in zip(sources, targets, strict=True):
                words[0].update(source.split(" "))
                words[-1].update(target.split(" "))
        return words


def _share(line: int) -> float:
    """A number from 0 to below 1, which is the same for this corpus line in every preparation."""
    return xxhash.xxh3_64_intdigest(line.to_bytes(8, "little")) / 2**64


def _characters(lines: Sequence[str]) -> Lengths:
    return np.fromiter(map(len, lines), dtype=np.int32, count=len(lines))


def raw_chunks(corpus: Corpus, size: int, begin: int = 0) -> Iterator[RawChunk]:
    """The pairs of a corpus but for the first `begin`, `size` at a time; a chunk never spans two parts."""
    before = 0
    for part in corpus.parts:
        skipped = min(max(begin - before, 0), part.pairs)
        pairs, first, before = islice(part.read(), skipped, None), skipped + 1, before + skipped
        if skipped and skipped == part.pairs:
            continue
        while chunk := list(islice(pairs, size)):
            source, target = zip(*chunk, strict=True)
            yield RawChunk(part.source, part.target, first, before, source, target)
            first, before = first + len(chunk), before + len(chunk)


@dataclass
class Findings:
    """What the first pass over a split has found out so far."""

    watches: list[AlignmentWatch]  # of each part
    words: list[Counter[str]]  # of the training pairs that are kept: of both sides in one, or of each
    read: int = 0  # pairs
    tally: Tally = field(default_factory=Tally)
    seen: dict[str, Seen] = field(default_factory=dict)
    hashes: list[PairHashes] = field(default_factory=list)  # of all pairs that are held out from training
    met: dict[str, Kept] = field(default_factory=dict)  # what of those the training text has

    def misaligned(self) -> list[tuple[Run, ...]]:
        """The runs in each part, once all is read."""
        return [watch.runs() for watch in self.watches]


@dataclass(frozen=True)
class FirstPass:
    """Cleans one split."""

    corpus: Corpus
    config: schema.Cleaning
    held_out: HeldOut

    def findings(self, vocabularies: int) -> Findings:
        """None yet; the words are for so many vocabularies."""
        watches = [AlignmentWatch(self.config.misaligned_run) for _ in self.corpus.parts]
        return Findings(watches, [Counter() for _ in range(vocabularies)])

    def chunks(self, clean: Clean, findings: Findings, size: int, workers: int) -> Iterator[CleanedChunk]:
        """The cleaned chunks after those that `findings` has already, in order; each is in `findings` when it comes."""
        workers = workers if len(self.corpus) - findings.read > size else 1  # starting processes takes longer than one chunk
        ends = np.cumsum([part.pairs for part in self.corpus.parts])
        raw = raw_chunks(self.corpus, size, findings.read)
        for chunk, cleaned in in_order(clean, raw, workers, f"cleaning {self.corpus}"):
            findings.tally.add(cleaned.tally)
            if self.config.misaligned_run:
                findings.watches[int(np.searchsorted(ends, chunk.before, side="right"))].add(*cleaned.lengths)
            left = cleaned
            if clean.training:
                left = _left(cleaned, self._kept(chunk, cleaned, findings))
                for counted, more in zip(findings.words, left.words, strict=True):
                    counted.update(more)
                    _forget_rare(counted)
            else:
                findings.hashes.append(cleaned.hashes)
            findings.read = chunk.before + len(chunk)
            yield left

    def _kept(self, chunk: RawChunk, cleaned: CleanedChunk, findings: Findings) -> Mask:
        """Which training pairs are neither held out nor, if that is wanted, there before."""
        keep = ~self._held_out(cleaned.hashes, findings)
        _drop(cleaned, ~keep, "held_out", chunk, findings.tally)
        rules = {
            "duplicate": ("pairs", self.config.drop_duplicates),
            "duplicate_source": ("sources", self.config.drop_duplicate_sources),
            "duplicate_target": ("targets", self.config.drop_duplicate_targets),
        }
        for reason, (side, wanted) in rules.items():
            if wanted:
                seen = findings.seen.setdefault(reason, Seen())
                new = keep.copy()
                hashes = getattr(cleaned.hashes, side)
                new[keep] = ~seen.again(hashes[keep])
                seen.add(hashes[new])
                _drop(cleaned, keep & ~new, reason, chunk, findings.tally)
                keep = new
        return keep

    def _held_out(self, hashes: PairHashes, findings: Findings) -> Mask:
        """Which training pairs are left out because validation or test has them; all that it has are noted."""
        met = self.held_out.meet(hashes, findings.met)
        wanted = {"none": (), "either": ("sources", "targets")}.get(self.config.drop_held_out, (self.config.drop_held_out,))
        out: Mask = np.zeros(len(hashes.pairs), dtype=bool)
        for side in wanted:
            out |= met[side]
        return out


def _drop(cleaned: CleanedChunk, dropped: Mask, reason: str, chunk: RawChunk, tally: Tally) -> None:
    part = Part(chunk.source_name, chunk.target_name, 0, 0, lambda: iter(()))
    for index in np.flatnonzero(dropped).tolist():
        line = int(cleaned.lines[index])
        pair = SentencePair(cleaned.source[index], cleaned.target[index], chunk.first + line - chunk.before - 1, part)
        tally.drop(reason, example(pair, len(pair.source), line))


def _forget_rare(words: Counter[str]) -> None:
    """Keeps memory bounded on text without end."""
    if len(words) > MOST_WORDS:
        for word in [word for word, count in words.items() if count == 1]:
            del words[word]


def _left(cleaned: CleanedChunk, keep: Mask) -> CleanedChunk:
    """The pairs of a chunk that are kept; words of the others are no longer counted."""
    if keep.all():
        return cleaned
    for index in np.flatnonzero(~keep).tolist():
        cleaned.words[0].subtract(cleaned.source[index].split(" "))
        cleaned.words[-1].subtract(cleaned.target[index].split(" "))
    kept = np.flatnonzero(keep).tolist()
    return CleanedChunk(
        [cleaned.source[index] for index in kept],
        [cleaned.target[index] for index in kept],
        cleaned.lines[keep],
        cleaned.hashes,
        cleaned.tally,
        tuple(+words for words in cleaned.words),
        cleaned.lengths,
    )
