"""The work of `mtkit prepare`: from a config to a prepared data folder, in two passes over the text.

Comes in: a `Config`. Goes out: a folder as `folder` describes it, whole or not at all. The first pass cleans every split
and counts the words of the training text, from which the vocabularies are learned; the second turns text into numbers. Both
hold a few thousand lines at a time, whatever the size of the corpus. Knows nothing of models.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from mtkit.config.schema import Config
from mtkit.data.binarized import PairWriter
from mtkit.data.cleaning import Cleaner, unescape
from mtkit.data.corpus import SPLITS, Corpus, SentencePair, open_corpora
from mtkit.data.encoding import TextChunk, encode_chunks
from mtkit.data.folder import FORMAT_VERSION, REPORT, PartReport, Report, SplitReport
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies, shortened
from mtkit.data.vocabulary import LARGEST_WORD, UNK
from mtkit.support.errors import UserError
from mtkit.support.files import clear_leftovers, sha256, whole_folder
from mtkit.support.lines import raw_lines
from mtkit.support.progress import shown

CHUNK = 10_000
"""Pairs handled at a time; it decides memory and nothing else."""

MANY_DROPPED = 0.05
"""Share of the training pairs whose loss is worth a warning."""


def prepare(config: Config, output: Path, *, workers: int = 1, overwrite: bool = False) -> Report:
    """Makes the prepared data folder `output`.

    The result depends on the config and the text, not on `workers` (processes that encode). UserError for everything in
    them that the user can mend; whatever happens, `output` is then as it was before.
    """
    _check_output(output, overwrite)
    corpora = open_corpora(config.data)
    with whole_folder(output, replace=overwrite, cure=" or give another --output") as folder:
        words: list[Counter[str]] = [Counter() for _ in range(1 if config.vocabulary.shared else 2)]  # one a vocabulary
        cleaned = {split: _Split(config, corpora[split], folder) for split in reversed(SPLITS) if split in corpora}
        for split in cleaned.values():
            split.clean(words)
        vocabularies = learn_vocabularies(words, config.vocabulary)
        vocabularies.save(folder)
        left_out = sum(count for side in words for word, count in side.items() if len(word.encode()) > LARGEST_WORD)
        words.clear()
        report = Report(
            format_version=FORMAT_VERSION,
            source_language=config.data.source_language,
            target_language=config.data.target_language,
            source_vocabulary_size=None if vocabularies.shared else len(vocabularies.source),
            vocabulary_size=len(vocabularies.target),
            vocabulary_fingerprint=vocabularies.fingerprint,
            words_left_out=left_out,
            splits={split: cleaned[split].encode(vocabularies, workers) for split in SPLITS if split in cleaned},
            config=config.model_dump(mode="json", include={"data", "cleaning", "vocabulary"}),
        )
        (folder / REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return report


def _check_output(output: Path, overwrite: bool) -> None:
    """UserError if something stands at `output` that must not be replaced."""
    clear_leftovers(output)  # what stands there may have been moved aside
    if output.is_dir():
        if not any(output.iterdir()):
            return
        if not overwrite:
            raise UserError(f"{output}: already there and not empty: give --overwrite to replace it, or another --output")
        if not (output / REPORT).is_file():
            raise UserError(
                f"{output}: not a prepared data folder, so --overwrite does not replace it: give another --output"
            )
        return
    there = next(folder for folder in (output, *output.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise UserError(f"{output}: {there} is a file, not a folder: give another --output")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{output}: no permission to write in {there}: give another --output")


class _Split:
    """One split on its way into the folder: `clean` leaves temporary text there, `encode` the final text and numbers."""

    def __init__(self, config: Config, corpus: Corpus, folder: Path) -> None:
        self._config = config
        self._corpus = corpus
        self._folder = folder
        self._training = corpus.split == "train"
        self._cleaner = Cleaner(config.cleaning, training=self._training)
        languages = (config.data.source_language, config.data.target_language)
        self._final = [folder / f"{corpus.split}.{language}" for language in languages]
        self._cleaned = [folder / f"cleaned.{corpus.split}.{language}" for language in languages]
        self._lines = folder / f"cleaned.{corpus.split}.lines"  # int64: the corpus line of each cleaned pair

    def clean(self, words: Sequence[Counter[str]]) -> None:
        """The first pass: temporary files with the cleaned pairs; the words of training pairs are added to `words`.

        These are the counts of the source and of the target, or one for both.
        """
        source_words, target_words = words[0], words[-1]
        source_path, target_path = self._cleaned
        chunks = shown(_chunks(self._corpus), f"cleaning {self._corpus.split}", len(self._corpus))
        with source_path.open("wb") as source, target_path.open("wb") as target, self._lines.open("wb") as lines:
            done = 0
            for chunk in chunks:
                cleaned = [(line, self._cleaner.clean(pair)) for line, pair in enumerate(chunk, done + 1)]
                kept = [(line, pair) for line, pair in cleaned if pair is not None]
                source.write("".join(f"{pair.source}\n" for _, pair in kept).encode("utf-8"))
                target.write("".join(f"{pair.target}\n" for _, pair in kept).encode("utf-8"))
                lines.write(np.array([line for line, _ in kept], dtype=np.int64).tobytes())
                if self._training:
                    for _, pair in kept:
                        source_words.update(pair.source.split(" "))
                        target_words.update(pair.target.split(" "))
                done += len(chunk)
        self._check_some_kept()

    def encode(self, vocabularies: Vocabularies, workers: int) -> SplitReport:
        """The second pass: the pairs that are not too long, as text and as numbers; the temporary files go."""
        split = self._corpus.split
        cleaned = self._cleaner.counts().kept
        workers = workers if cleaned > CHUNK else 1  # starting processes takes longer than one chunk
        encoded = encode_chunks(vocabularies, self._cleaned_chunks(), workers, str(self._corpus))
        source_path, target_path = self._final
        pieces = max(len(vocabularies.source), len(vocabularies.target))
        tokens = [0, 0]
        unknown = 0
        with (
            source_path.open("wb") as source,
            target_path.open("wb") as target,
            contextlib.closing(PairWriter(self._folder, split, pieces)) as writer,
        ):
            for chunk in shown(encoded, f"encoding {split}", cleaned):
                lengths = zip(map(len, chunk.source), map(len, chunk.target), strict=True)
                kept = [i for i, (a, b) in enumerate(lengths) if self._cleaner.keeps_lengths(a, b)]
                sides = [chunk.source[i] for i in kept], [chunk.target[i] for i in kept]
                writer.append(*sides, [chunk.text.lines[i] for i in kept])
                source.write("".join(f"{chunk.text.source[i]}\n" for i in kept).encode("utf-8"))
                target.write("".join(f"{chunk.text.target[i]}\n" for i in kept).encode("utf-8"))
                tokens = [total + sum(map(len, side)) for total, side in zip(tokens, sides, strict=True)]
                unknown += sum(line.count(UNK) for side in sides for line in side)
            writer.finish()
        self._check_some_kept()
        if not self._training:  # nothing was dropped, and references are kept as they were written
            for cleaned_text, final_text in zip(self._cleaned, self._final, strict=True):
                cleaned_text.replace(final_text)
        for path in (*self._cleaned, self._lines):
            path.unlink(missing_ok=True)
        parts = self._corpus.parts
        counts = self._cleaner.counts(sum(part.byte_order_marks for part in parts))
        return SplitReport(
            parts=tuple(PartReport(source=part.source, target=part.target, pairs=part.pairs) for part in parts),
            counts=counts,
            lines=counts.kept,
            source_tokens=tokens[0],
            target_tokens=tokens[1],
            unknown_tokens=unknown,
            source_sha256=sha256(source_path),
            target_sha256=sha256(target_path),
        )

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
        counts = self._cleaner.counts()
        if not counts.kept:
            raise UserError(f"{self._corpus}: no pair is left ({counts}): check the files and the cleaning section")


def _chunks(corpus: Corpus) -> Iterator[list[SentencePair]]:
    pairs = iter(corpus)
    while chunk := list(islice(pairs, CHUNK)):
        yield chunk


def summary(report: Report) -> list[str]:
    """What a reader of the terminal should know: counts, warnings, the vocabulary and how well it covers the text."""
    lines = []
    for name, split in report.splits.items():
        counts = split.counts
        changed = ", ".join(f"{kind} {count}" for kind, count in counts.changed.items() if count)
        lines.append(f"{name}: {counts}; unknown tokens {split.unknown_rate:.2%}")
        if changed:
            lines.append(f"{name}: changed characters: {changed}")
        if replaced := counts.changed["line_separator"]:
            lines.append(f"{name}: inner line separators replaced: {replaced}")
        if marks := counts.changed["word_mark"]:
            lines.append(
                f"WARNING: {name}: U+2581 occurs {marks} times; the vocabulary uses it for spaces, so it became one"
            )
        if counts.read - counts.kept > MANY_DROPPED * counts.read:
            lines.append(f"WARNING: {name}: {(counts.read - counts.kept) / counts.read:.1%} of the pairs dropped")
    if report.words_left_out:
        lines.append(
            f"WARNING: {report.words_left_out} words of more than {LARGEST_WORD} bytes were not used for the vocabulary"
        )
    fingerprint = shortened(report.vocabulary_fingerprint)
    if report.source_vocabulary_size is None:
        lines.append(f"vocabulary: {report.vocabulary_size} pieces, fingerprint {fingerprint}")
    else:
        sizes = f"source {report.source_vocabulary_size} pieces, target {report.vocabulary_size} pieces"
        lines.append(f"vocabularies: {sizes}, fingerprints {fingerprint}")
    return lines
