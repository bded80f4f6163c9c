"""The work of `mtkit prepare`: from a config to a prepared data folder, in two passes over the text.

Comes in: a `Config`. Goes out: a folder as `folder` describes it, whole or not at all. The first pass cleans every split
and counts the words of the training text, from which the vocabularies are learned; the second turns text into numbers. Both
hold a few thousand lines at a time, whatever the size of the corpus. Knows nothing of models.
"""

import hashlib
import importlib.metadata
import json
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtkit.config.schema import Config
from mtkit.data import language
from mtkit.data.binarized import Pairs
from mtkit.data.corpus import Corpus, TestSetLoader, check_apart, open_corpora
from mtkit.data.duplicates import HeldOut
from mtkit.data.folder import FORMAT_VERSION, REPORT, Report, check_replaceable
from mtkit.data.lexicon import learn_lexicon
from mtkit.data.page import PAGE, write_page
from mtkit.data.shortlist import SHORTLIST, Shortlist
from mtkit.data.splits import Split
from mtkit.data.stages import COMMIT, DamagedError, Stage
from mtkit.data.statistics import coverage
from mtkit.data.vocabularies import (
    SHARED,
    SOURCE,
    TARGET,
    Vocabularies,
    as_reused,
    learn_vocabularies,
    named_symbols,
    reused_vocabularies,
)
from mtkit.data.vocabulary import LARGEST_WORD
from mtkit.support.errors import UserError
from mtkit.support.files import bytes_text, clear_leftovers, kept_folder, whole_folder, writing

WORK = "work"
"""Folder inside the one that is made, for what goes again once all is done."""


def prepare(
    config: Config, output: Path, *, workers: int = 1, overwrite: bool = False, test_set: TestSetLoader | None = None
) -> Report:
    """Makes the prepared data folder `output`.

    The result depends on the config and the text, not on `workers` (processes that clean and encode). `test_set` gives the
    lines of splits that name one. UserError for everything that the user can mend; whatever happens, `output` is then as it
    was before. What a process that was interrupted or killed had done is kept in a hidden folder beside `output`; the next
    preparation of the very same goes on with it, any other deletes it.
    """
    with writing(output, cure=" or give another --output"):
        _check_output(output, overwrite)
    reused = reused_vocabularies(config.vocabulary, config.data.tags) if config.vocabulary.reuse else None
    config = as_reused(config, reused) if reused else config
    symbols = (*named_symbols(config.vocabulary, config.data.tags), *(reused.source.symbols if reused else ()))
    if config.cleaning.drop_foreign:
        language.check_known(config.data.source_language, config.data.target_language)
    corpora = open_corpora(config.data, test_set)
    check_apart(corpora, output)
    origin = _origin(config, corpora, reused, symbols)
    need = _check_room(output, corpora, kept_folder(output, origin))
    with whole_folder(output, replace=overwrite, cure=" or give another --output", need=need, kept=origin) as folder:
        work = _Work(config, corpora, reused, symbols, workers)
        try:
            try:
                report = work.done(folder)
            except DamagedError as error:
                print(f"what an interrupted preparation left is damaged ({error}): starting anew", file=sys.stderr)
                _empty(folder)
                report = work.done(folder)
        except (UserError, OSError):
            raise
        except BaseException:
            if any((folder / WORK).glob(f"*{COMMIT}")):
                print("what is done so far is kept: the same command goes on with it", file=sys.stderr)
            else:
                _empty(folder)
            raise
        shutil.rmtree(folder / WORK)
    return report


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _origin(config: Config, corpora: dict[str, Corpus], reused: Vocabularies | None, symbols: Sequence[str]) -> str:
    """A hash of all that decides what a preparation makes: options, text, versions and mtkit's own rules."""
    rules = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    libraries = ("sentencepiece", "numpy", "xxhash", *(("py3langid",) if config.cleaning.drop_foreign else ()))
    origin = [
        config.model_dump(mode="json", include={"data", "cleaning", "vocabulary"}),
        [[split, part.identity] for split, corpus in corpora.items() for part in corpus.parts],
        reused.fingerprint if reused else symbols,
        [FORMAT_VERSION, unicodedata.unidata_version, *map(importlib.metadata.version, libraries)],
        hashlib.sha256(rules).hexdigest(),
    ]
    return hashlib.sha256(json.dumps(origin).encode()).hexdigest()[:16]


@dataclass
class Learned:
    """What is known of the words that the vocabulary was learned from."""

    words_left_out: int = 0


class _Work:
    """All that is done for a prepared data folder, in stages."""

    def __init__(
        self,
        config: Config,
        corpora: dict[str, Corpus],
        reused: Vocabularies | None,
        symbols: tuple[str, ...],
        workers: int,
    ) -> None:
        self._config = config
        self._corpora = corpora
        self._reused = reused
        self._symbols = symbols
        self._workers = workers

    def done(self, folder: Path) -> Report:
        """Does what of it is not done yet in `folder`. DamagedError if something of what was done is no longer so."""
        config, work = self._config, folder / WORK
        work.mkdir(exist_ok=True)
        held_out = HeldOut()
        splits = [Split(config, corpus, folder, work, held_out) for corpus in self._corpora.values()]
        names = (SHARED,) if config.vocabulary.shared else (SOURCE, TARGET)
        learning = Stage(work, "learning the vocabulary", Learned(), [folder / name for name in names])
        shortlist = Stage(work, "learning the shortlist", Learned(), [folder / SHORTLIST])
        _tell_of_earlier_work(splits, learning)
        for split in reversed(splits):  # what is held out from training must be known first
            split.clean(self._symbols, self._workers)
        vocabularies = self._vocabularies(learning, folder, splits[0].words)
        splits[0].words.clear()
        for split in splits:
            split.encode(vocabularies, self._workers)
        if config.vocabulary.shortlist and not shortlist.done:
            _learn_shortlist(shortlist, folder, vocabularies)
        report = Report(
            format_version=FORMAT_VERSION,
            source_language=config.data.source_language,
            target_language=config.data.target_language,
            source_vocabulary_size=None if vocabularies.shared else len(vocabularies.source),
            vocabulary_size=len(vocabularies.target),
            vocabulary_fingerprint=vocabularies.fingerprint,
            words_left_out=learning.state.words_left_out,
            splits={split.name: split.report(vocabularies, splits[0].met) for split in splits},
            coverage=coverage(vocabularies, splits[0].statistics),
            config=config.model_dump(mode="json", include={"data", "cleaning", "vocabulary"}),
        )
        (folder / REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        write_page(report, folder / PAGE)
        return report

    def _vocabularies(self, learning: Stage[Learned], folder: Path, words: Sequence[Counter[str]]) -> Vocabularies:
        """Those that are reused, were learned before or are learned now, as files too."""
        if learning.done:
            return Vocabularies.load(folder, shared=self._config.vocabulary.shared)
        with learning.writing() as files:
            vocabularies = self._reused
            if vocabularies is None:
                print(f"learning the vocabulary from {sum(map(len, words)):,} different words", file=sys.stderr)
                vocabularies = learn_vocabularies(words, self._config.vocabulary, self._config.data.tags)
            too_long = (count for side in words for word, count in side.items() if len(word.encode()) > LARGEST_WORD)
            learning.state.words_left_out = sum(too_long)
            for file, content in zip(files, vocabularies.files.values(), strict=True):
                file.write(content)
        return vocabularies


def _learn_shortlist(stage: Stage[Learned], folder: Path, vocabularies: Vocabularies) -> None:
    """From the numbered pairs of the training text, into its file."""
    pairs = Pairs.open(folder, "train")
    print("learning the shortlist: what the pieces of the source translate to", file=sys.stderr)
    with stage.writing() as (file,):
        lexicon = learn_lexicon(pairs, len(vocabularies.source), len(vocabularies.target))
        file.write(Shortlist.of(lexicon, len(vocabularies.target)).content(vocabularies.fingerprint))


def _tell_of_earlier_work(splits: Sequence[Split], learning: Stage[Learned]) -> None:
    """One line that says what an interrupted preparation had done."""
    cleaning = [(split.stages[0], split.stages[0].state.read) for split in reversed(splits)]
    encoding = [(split.stages[1], split.stages[1].state.read) for split in splits]
    stages: list[tuple[Stage[Any], int]] = [*cleaning, (learning, 0), *encoding]
    told = [f"{stage.name} {'(done)' if stage.done else f'({read:,} lines)'}" for stage, read in stages if stage.taken_up]
    if told:
        print(f"continuing an interrupted preparation: {', '.join(told)}", file=sys.stderr)


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


def _check_room(output: Path, corpora: dict[str, Corpus], kept: Path) -> int:
    """Bytes that the folder will take while it is made, about; told where they are many. UserError if there is no room.

    What is in the folder `kept` has its room already.
    """
    size = sum(part.size for corpus in corpora.values() for part in corpus.parts)
    # Cleaned text and final text; numbers, two bytes for about three of text; two indices of 24 bytes a pair.
    need = 2 * size + 2 * size // 3 + 48 * sum(map(len, corpora.values()))
    there = sum(path.stat().st_size for path in kept.rglob("*")) if kept.is_dir() else 0
    need = max(need - there, 0)
    free = shutil.disk_usage(_nearest(output)).free
    if need > free:
        raise UserError(
            f"{output}: needs about {bytes_text(need)} while it is made, {bytes_text(free)} are free: make room or give "
            "another --output"
        )
    if need > 100_000_000:
        print(f"{output} takes up to {bytes_text(need)} while it is made, {bytes_text(free)} are free", file=sys.stderr)
    return need
