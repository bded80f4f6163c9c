"""One split on its way into the prepared data folder, in two passes: first its text is cleaned, then it is numbered.

Comes in: a corpus, later the vocabularies. Goes out: files of text and of numbers, and what there is to report. Each pass is
a stage that goes on where it was interrupted, and holds a few thousand lines at a time, whatever the size of the corpus.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtkit.config.schema import Config
from mtkit.data import language
from mtkit.data.binarized import PairWriter, pair_files
from mtkit.data.chunks import Clean, CleanedChunk, Findings, FirstPass
from mtkit.data.cleaning import example, length_reason, length_severity
from mtkit.data.corpus import Corpus, SentencePair
from mtkit.data.counting import Tally
from mtkit.data.duplicates import HeldOut, PairHashes, given_away
from mtkit.data.encoding import INDEX_TYPE, LINE, EncodedChunk, TextFiles, encode_chunks, line_ends
from mtkit.data.folder import SplitReport
from mtkit.data.stages import GrowingFile, Kept, Stage
from mtkit.data.statistics import SplitStatistics
from mtkit.data.vocabularies import Vocabularies
from mtkit.support.errors import UserError
from mtkit.support.files import sha256
from mtkit.support.progress import shown

CHUNK = 10_000
"""Pairs handled at a time; it decides memory and nothing else."""

SHOWN_FROM = 10
"""Pieces of the longer side from which on the ratio of a kept pair is worth a look."""


@dataclass
class Encoded:
    """How far the second pass is, in cleaned pairs, and what it has counted."""

    statistics: SplitStatistics
    read: int = 0
    tally: Tally = field(default_factory=Tally)


class Split:
    """`clean`, then `encode`, then `report`."""

    def __init__(self, config: Config, corpus: Corpus, folder: Path, work: Path, held_out: HeldOut) -> None:
        """Takes up what is in `folder` and, of what goes again, in `work`. DamagedError if it is not as it was left."""
        self.name = corpus.split
        self._config = config
        self._corpus = corpus
        self._training = corpus.split == "train"
        self._held_out = held_out
        self._first = FirstPass(corpus, config.cleaning, held_out)
        self._ends = np.cumsum([part.pairs for part in corpus.parts])
        self._text = [folder / f"{corpus.split}.{code}" for code in _codes(config)]
        # Nothing is dropped from other text, and references are kept as they were written.
        cleaned = [work / path.name for path in self._text] if self._training else self._text
        self._cleaned = TextFiles(cleaned[0], cleaned[1], work / f"{corpus.split}.index")
        vocabularies = 1 if config.vocabulary.shared else 2
        self._cleaning = Stage(
            work, f"cleaning {self.name}", self._first.findings(vocabularies), [*cleaned, self._cleaned.index]
        )
        self._encoding = Stage(
            work,
            f"encoding {self.name}",
            Encoded(SplitStatistics(len(corpus.parts))),
            [*(self._text if self._training else ()), *pair_files(folder, corpus.split)],
        )

    @property
    def stages(self) -> tuple[Stage[Findings], Stage[Encoded]]:
        """Both passes."""
        return self._cleaning, self._encoding

    @property
    def words(self) -> list[Counter[str]]:
        """Those of cleaned training text: of both sides in one, or of each."""
        return self._cleaning.state.words

    @property
    def met(self) -> dict[str, Kept]:
        """What the training text has of the other splits."""
        return self._cleaning.state.met

    @property
    def statistics(self) -> SplitStatistics:
        """Those of all that was encoded."""
        return self._encoding.state.statistics

    def clean(self, symbols: tuple[str, ...], workers: int) -> None:
        """The first pass: cleaned text, and all that can be known before there is a vocabulary.

        `symbols` are what never changes in text.
        """
        stage, findings = self._cleaning, self._cleaning.state
        if not stage.done:
            clean = Clean(
                self._config.cleaning,
                training=self._training,
                normalization=self._config.vocabulary.normalization,
                languages=language.main_codes(*_codes(self._config)),
                vocabularies=len(findings.words),
                symbols=symbols,
            )
            chunks = self._first.chunks(clean, findings, CHUNK, workers)
            with stage.writing() as files:
                for chunk in shown(chunks, stage.name, len(self._corpus), before=findings.read):
                    _write_cleaned(chunk, files)
                    stage.commit()
        if not self._training:
            self._held_out.add(PairHashes.joined(findings.hashes))
        self._check_some_kept(findings.tally)

    def encode(self, vocabularies: Vocabularies, workers: int) -> None:
        """The second pass: the numbers and, of training text, the pairs that are neither too long nor too unequal."""
        stage, state = self._encoding, self._encoding.state
        if not stage.done:
            cleaned = self._cleaning.state.tally.counts().kept
            encoded = encode_chunks(
                vocabularies,
                self._cleaned.chunks(CHUNK, state.read),
                workers if cleaned - state.read > CHUNK else 1,  # starting processes takes longer than one chunk
                str(self._corpus),
                normalised=self._training,
                unescaped=self._config.cleaning.unescape_entities,
            )
            pieces = max(len(vocabularies.source), len(vocabularies.target))
            tags = np.array([vocabularies.source.tag_id(part.tag) if part.tag else -1 for part in self._corpus.parts])
            with stage.writing() as files:
                writer = PairWriter(files[-4:], pieces)
                for chunk in shown(encoded, stage.name, cleaned, before=state.read):
                    parts = np.searchsorted(self._ends, chunk.text.index[:, LINE], side="left")
                    if tags.max() >= 0:
                        tagged = chunk.source.prefixed(tags[parts])
                        chunk = EncodedChunk(chunk.text, tagged, chunk.target, chunk.characters)
                    keep = self._keep(chunk, parts)
                    rows = chunk.source.where(keep), chunk.target.where(keep)
                    writer.write(*rows, chunk.text.index[keep, LINE])
                    for file, text in zip(files[:-4], chunk.text.where(keep), strict=False):
                        file.write(text)
                    state.statistics.add(*rows, chunk.characters[keep], parts[keep], vocabularies)
                    state.read += len(chunk)
                    stage.commit()
                writer.finish()
        self._check_some_kept(self._tally())

    def report(self, vocabularies: Vocabularies, met: dict[str, Kept]) -> SplitReport:
        """All there is to tell, `met` being what the training text has of other splits."""
        findings = self._cleaning.state
        given = {} if self._training else given_away(PairHashes.joined(findings.hashes), met)
        source, target = map(sha256, self._text)
        return self.statistics.report(self._corpus, findings, self._tally(), vocabularies, (source, target), given)

    def _tally(self) -> Tally:
        """That of both passes."""
        both = Tally()
        both.add(self._cleaning.state.tally)
        both.add(self._encoding.state.tally)
        return both

    def _keep(self, chunk: EncodedChunk, parts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which pairs of a chunk have lengths that are wanted; those that have not are counted."""
        source, target = chunk.source.lengths, chunk.target.lengths
        keep = np.ones(len(chunk), dtype=bool)
        if not self._training:
            return keep
        tally, cleaning = self._encoding.state.tally, self._config.cleaning
        longer, shorter = np.maximum(source, target), np.minimum(source, target)
        doubtful = (longer > cleaning.max_tokens) | (longer > cleaning.max_ratio * shorter)
        for index in np.flatnonzero(doubtful).tolist():
            lengths = int(source[index]), int(target[index])
            if reason := length_reason(*lengths, cleaning):
                keep[index] = False
                shown_pair = self._pair(chunk, index, int(parts[index]))
                severity = length_severity(*lengths, reason)
                tally.drop(reason, example(shown_pair, severity, int(chunk.text.index[index, LINE])))
        ratios = np.where(keep & (longer > SHOWN_FROM), longer / np.maximum(shorter, 1), 0.0)
        for index in np.argsort(-ratios, kind="stable")[:20].tolist():
            if ratios[index] > 0.0:
                shown_pair = self._pair(chunk, index, int(parts[index]))
                tally.note("kept_ratio", example(shown_pair, ratios[index], int(chunk.text.index[index, LINE])))
        return keep

    def _pair(self, chunk: EncodedChunk, index: int, part: int) -> SentencePair:
        line = int(chunk.text.index[index, LINE]) - (int(self._ends[part - 1]) if part else 0)
        return SentencePair(*chunk.text.pair(index), line, self._corpus.parts[part])

    def _check_some_kept(self, tally: Tally) -> None:
        counts = tally.counts()
        if not counts.kept:
            raise UserError(f"{self._corpus}: no pair is left ({counts}): check the files and the cleaning section")


def _codes(config: Config) -> tuple[str, str]:
    return config.data.source_language, config.data.target_language


def _write_cleaned(chunk: CleanedChunk, files: Sequence[GrowingFile]) -> None:
    """Adds a chunk to the files of cleaned text and to their index."""
    columns = [chunk.lines]
    for file, lines in zip(files, (chunk.source, chunk.target), strict=False):
        text = "".join(f"{line}\n" for line in lines).encode("utf-8")
        columns.append(file.size + line_ends(text))
        file.write(text)
    files[-1].write(np.column_stack(columns).astype(INDEX_TYPE).tobytes())
