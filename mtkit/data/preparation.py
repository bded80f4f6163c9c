"""The work of `mtkit prepare`: from a config to a prepared data folder, in two passes over the text.

Comes in: a `Config`. Goes out: a folder as `folder` describes it, whole or not at all. The first pass cleans every split
and counts the words of the training text, from which the vocabularies are learned; the second turns text into numbers. Both
hold a few thousand lines at a time, whatever the size of the corpus. Knows nothing of models.
"""

import contextlib
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtkit.config.schema import Config
from mtkit.data import language
from mtkit.data.binarized import PairWriter
from mtkit.data.chunks import Clean, FirstPass
from mtkit.data.cleaning import example, length_reason, length_severity, unescape
from mtkit.data.corpus import SPLITS, Corpus, SentencePair, TestSetLoader, check_apart, open_corpora
from mtkit.data.duplicates import HeldOut
from mtkit.data.encoding import EncodedChunk, TextChunk, encode_chunks
from mtkit.data.folder import FORMAT_VERSION, REPORT, Report, check_replaceable
from mtkit.data.page import PAGE, write_page
from mtkit.data.statistics import SplitStatistics, coverage
from mtkit.data.vocabularies import Vocabularies, as_reused, learn_vocabularies, named_symbols, reused_vocabularies
from mtkit.data.vocabulary import LARGEST_WORD
from mtkit.support.errors import UserError
from mtkit.support.files import bytes_text, clear_leftovers, whole_folder, writing
from mtkit.support.lines import raw_lines
from mtkit.support.progress import shown

CHUNK = 10_000
"""Pairs handled at a time; it decides memory and nothing else."""

MOST_WORDS = 10_000_000
"""Different words counted at most: of more, those that occurred once so far are forgotten."""


def prepare(
    config: Config, output: Path, *, workers: int = 1, overwrite: bool = False, test_set: TestSetLoader | None = None
) -> Report:
    """Makes the prepared data folder `output`.

    The result depends on the config and the text, not on `workers` (processes that clean and encode). `test_set` gives the
    lines of splits that name one. UserError for everything that the user can mend; whatever happens, `output` is then as it
    was before.
    """
    with writing(output, cure=" or give another --output"):
        _check_output(output, overwrite)
    tags = config.data.tags
    reused = reused_vocabularies(config.vocabulary, tags) if config.vocabulary.reuse else None
    config = as_reused(config, reused) if reused else config
    named_symbols(config.vocabulary, tags)  # what is wrong with them is told before the work
    if config.cleaning.drop_foreign:
        language.check_known(config.data.source_language, config.data.target_language)
    corpora = open_corpora(config.data, test_set)
    check_apart(corpora, output)
    need = _check_room(output, corpora)
    with whole_folder(output, replace=overwrite, cure=" or give another --output", need=need) as folder:
        words: list[Counter[str]] = [Counter() for _ in range(1 if config.vocabulary.shared else 2)]  # one a vocabulary
        held_out = HeldOut()
        splits = [
            _Split(config, corpora[split], folder, held_out, config.vocabulary.normalization, workers)
            for split in reversed(SPLITS)
            if split in corpora
        ]
        for split in splits:
            split.clean(words)
        vocabularies = reused or _learned(words, config, tags)
        vocabularies.save(folder)
        left_out = sum(count for side in words for word, count in side.items() if len(word.encode()) > LARGEST_WORD)
        words.clear()
        for split in reversed(splits):
            split.encode(vocabularies)
        report = Report(
            format_version=FORMAT_VERSION,
            source_language=config.data.source_language,
            target_language=config.data.target_language,
            source_vocabulary_size=None if vocabularies.shared else len(vocabularies.source),
            vocabulary_size=len(vocabularies.target),
            vocabulary_fingerprint=vocabularies.fingerprint,
            words_left_out=left_out,
            splits={split.name: split.statistics.report() for split in reversed(splits)},
            coverage=coverage(vocabularies, splits[-1].statistics),
            config=config.model_dump(mode="json", include={"data", "cleaning", "vocabulary"}),
        )
        (folder / REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        write_page(report, folder / PAGE)
    return report


def _learned(words: Sequence[Counter[str]], config: Config, tags: Sequence[str]) -> Vocabularies:
    different = sum(map(len, words))
    print(f"learning the vocabulary from {different:,} different words", file=sys.stderr)
    return learn_vocabularies(words, config.vocabulary, tags)


def _check_output(output: Path, overwrite: bool) -> None:
    """UserError if something stands at `output` that must not be replaced."""
    clear_leftovers(output)  # what stands there may have been moved aside
    if output.is_dir():
        if not any(output.iterdir()):
            return
        if not overwrite:
            raise UserError(f"{output}: already there and not empty: give --overwrite to replace it, or another --output")
        check_replaceable(output)
        return
    there = _nearest(output)
    if not there.is_dir():
        raise UserError(f"{output}: {there} is a file, not a folder: give another --output")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{output}: no permission to write in {there}: give another --output")


def _nearest(output: Path) -> Path:
    """`output`, or what there is on the way to it."""
    return next(folder for folder in (output, *output.absolute().parents) if folder.exists())


def _check_room(output: Path, corpora: dict[str, Corpus]) -> int:
    """Bytes that the folder will take while it is made, about; told where they are many. UserError if there is no room."""
    size = sum(part.size for corpus in corpora.values() for part in corpus.parts)
    # Cleaned text and final text; numbers, two bytes for about three of text; an index of 24 bytes a pair, lines of 8.
    need = 2 * size + 2 * size // 3 + 32 * sum(map(len, corpora.values()))
    free = shutil.disk_usage(_nearest(output)).free
    if need > free:
        raise UserError(
            f"{output}: needs about {bytes_text(need)} while it is made, {bytes_text(free)} are free: make room or give "
            "another --output"
        )
    if need > 100_000_000:
        print(f"{output} takes up to {bytes_text(need)} while it is made, {bytes_text(free)} are free", file=sys.stderr)
    return need


class _Split:
    """One split on its way into the folder: `clean` leaves temporary text there, `encode` the final text and numbers."""

    def __init__(
        self, config: Config, corpus: Corpus, folder: Path, held_out: HeldOut, normalization: str, workers: int
    ) -> None:
        self.name = corpus.split
        self._config = config
        self._corpus = corpus
        self._folder = folder
        self._workers = workers
        self._training = corpus.split == "train"
        self._first = FirstPass(corpus, config.cleaning, held_out)
        codes = (config.data.source_language, config.data.target_language)
        self._clean = Clean(
            config.cleaning,
            training=self._training,
            normalization=normalization,
            languages=language.main_codes(*codes),
            vocabularies=1 if config.vocabulary.shared else 2,
        )
        self._final = [folder / f"{corpus.split}.{code}" for code in codes]
        self._cleaned = [folder / f"cleaned.{corpus.split}.{code}" for code in codes]
        self._lines = folder / f"cleaned.{corpus.split}.lines"  # int64: the corpus line of each cleaned pair
        self._ends = np.cumsum([part.pairs for part in corpus.parts])
        self.statistics: SplitStatistics

    def clean(self, words: Sequence[Counter[str]]) -> None:
        """The first pass: temporary files with the cleaned pairs; the words of training pairs are added to `words`.

        These are the counts of the source and of the target, or one for both.
        """
        source_path, target_path = self._cleaned
        chunks = self._first.chunks(self._clean, CHUNK, self._workers)
        with source_path.open("wb") as source, target_path.open("wb") as target, self._lines.open("wb") as lines:
            for chunk in shown(chunks, f"cleaning {self.name}", len(self._corpus)):
                source.write("".join(f"{text}\n" for text in chunk.source).encode("utf-8"))
                target.write("".join(f"{text}\n" for text in chunk.target).encode("utf-8"))
                lines.write(chunk.lines.tobytes())
                for counted, more in zip(words, chunk.words, strict=True):
                    counted.update(more)
                    _forget_rare(counted)
        self._check_some_kept()

    def encode(self, vocabularies: Vocabularies) -> None:
        """The second pass: the pairs that are not too long, as text and as numbers; the temporary files go."""
        cleaned = self._first.tally.counts().kept
        workers = self._workers if cleaned > CHUNK else 1  # starting processes takes longer than one chunk
        chunks = self._cleaned_chunks()
        encoded = encode_chunks(vocabularies, chunks, workers, str(self._corpus), normalised=self._training)
        pieces = max(len(vocabularies.source), len(vocabularies.target))
        self.statistics = SplitStatistics(self._corpus, self._first, vocabularies)
        tags = np.array([vocabularies.source.tag_id(part.tag) if part.tag else -1 for part in self._corpus.parts])
        source_path, target_path = self._final
        with (
            source_path.open("wb") as source,
            target_path.open("wb") as target,
            contextlib.closing(PairWriter(self._folder, self.name, pieces)) as writer,
        ):
            for chunk in shown(encoded, f"encoding {self.name}", cleaned):
                lines = np.array(chunk.text.lines, dtype=np.int64)
                parts = np.searchsorted(self._ends, lines, side="left")
                sources = chunk.source.prefixed(tags[parts]) if tags.max() >= 0 else chunk.source
                keep = self._keep(EncodedChunk(chunk.text, sources, chunk.target), parts)
                kept = np.flatnonzero(keep).tolist()
                rows = sources.where(keep), chunk.target.where(keep)
                writer.write(*rows, lines[keep])
                texts = [[side[index] for index in kept] for side in (chunk.text.source, chunk.text.target)]
                source.write("".join(f"{text}\n" for text in texts[0]).encode("utf-8"))
                target.write("".join(f"{text}\n" for text in texts[1]).encode("utf-8"))
                self.statistics.add(*rows, texts, parts[keep])
            writer.finish()
        self._check_some_kept()
        if not self._training:  # nothing was dropped, and references are kept as they were written
            for cleaned_text, final_text in zip(self._cleaned, self._final, strict=True):
                cleaned_text.replace(final_text)
        for path in (*self._cleaned, self._lines):
            path.unlink(missing_ok=True)
        self.statistics.finish(*self._final)

    def _keep(self, chunk: EncodedChunk, parts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which pairs of a chunk have lengths that are wanted; those that have not are counted."""
        source, target = chunk.source.lengths, chunk.target.lengths
        keep = np.ones(len(chunk), dtype=bool)
        if not self._training:
            return keep
        longer, shorter = np.maximum(source, target), np.minimum(source, target)
        cleaning = self._config.cleaning
        doubtful = (longer > cleaning.max_tokens) | (longer > cleaning.max_ratio * shorter)
        for index in np.flatnonzero(doubtful).tolist():
            lengths = int(source[index]), int(target[index])
            if reason := length_reason(*lengths, cleaning):
                keep[index] = False
                shown_pair = self._pair(chunk, index, int(parts[index]))
                severity = length_severity(*lengths, reason)
                self._first.tally.drop(reason, example(shown_pair, severity, int(chunk.text.lines[index])))
        ratios = np.where(keep & (longer > SHOWN_FROM), longer / np.maximum(shorter, 1), 0.0)
        for index in np.argsort(-ratios, kind="stable")[:20].tolist():
            if ratios[index] > 0.0:
                shown_pair = self._pair(chunk, index, int(parts[index]))
                self._first.tally.note("kept_ratio", example(shown_pair, ratios[index], int(chunk.text.lines[index])))
        return keep

    def _pair(self, chunk: EncodedChunk, index: int, part: int) -> SentencePair:
        line = chunk.text.lines[index] - (int(self._ends[part - 1]) if part else 0)
        return SentencePair(chunk.text.source[index], chunk.text.target[index], line, self._corpus.parts[part])

    def _cleaned_chunks(self) -> Iterator[TextChunk]:
        """What the first pass left, in chunks."""
        source: Iterator[str]
        target: Iterator[str]
        source, target = ((raw.decode() for raw in raw_lines(path)) for path in self._cleaned)
        if not self._training and self._config.cleaning.unescape_entities:
            target = map(unescape, target)  # the numbers are for the model, which knows no entities; the text stays
        with self._lines.open("rb") as numbers:
            while numbers_read := numbers.read(CHUNK * np.dtype(np.int64).itemsize):
                corpus_lines = np.frombuffer(numbers_read, dtype=np.int64).tolist()
                count = len(corpus_lines)
                yield TextChunk(list(islice(source, count)), list(islice(target, count)), corpus_lines)

    def _check_some_kept(self) -> None:
        counts = self._first.tally.counts()
        if not counts.kept:
            raise UserError(f"{self._corpus}: no pair is left ({counts}): check the files and the cleaning section")


SHOWN_FROM = 10
"""Pieces of the longer side from which on the ratio of a kept pair is worth a look."""


def _forget_rare(words: Counter[str]) -> None:
    """Keeps memory bounded on text without end."""
    if len(words) > MOST_WORDS:
        for word in [word for word, count in words.items() if count == 1]:
            del words[word]
