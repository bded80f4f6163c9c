"""Where sentence pairs come from: files, test sets, or a data set of the Hugging Face hub.

Comes in: the `data` section of a config. Goes out: a `Corpus` for each split, a stream of `SentencePair`s as they were
written: bytes that are not UTF-8 are still in them, as surrogate escapes. Knows nothing of cleaning or vocabularies.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from mtkit.config import schema
from mtkit.data.hub import hub_parts
from mtkit.data.readers import Part, read_files
from mtkit.support.errors import UserError

SPLITS = ("train", "validation", "test")

TestSetLoader = Callable[[str], tuple[Sequence[str], Sequence[str]]]
"""The name of a test set -> its source lines and those of its reference."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation as read, with their line (from 1) in the part of the corpus they come from."""

    source: str
    target: str
    line: int
    part: Part


@dataclass(frozen=True)
class Corpus:
    """All pairs of one split, part after part; it can be read several times."""

    split: str
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return sum(part.pairs for part in self.parts)

    def __iter__(self) -> Iterator[SentencePair]:
        for part in self.parts:
            for line, (source, target) in enumerate(part.read(), 1):
                yield SentencePair(source, target, line, part)

    def __str__(self) -> str:
        return f"{self.split} ({', '.join(map(str, self.parts))})"


def open_corpora(data: schema.Data, test_set: TestSetLoader | None = None) -> dict[str, Corpus]:
    """The corpus of every split that has an origin: its files, else its test set, else its split of the hub data set.

    All files are counted before anything is downloaded. UserError if train or validation has no origin, a file cannot be
    read, files of a pair have different numbers of lines, or the test set or the hub data set cannot be had.
    """
    sections: dict[str, schema.Split] = {"train": data.train, "validation": data.validation, "test": data.test}
    parts: dict[str, list[Part]] = {}
    wanted = {}  # from the hub
    for split, section in sections.items():
        parts[split] = [part for corpus in (section, *section.more) for part in _file_parts(corpus, data)]
        if section.origins:
            continue
        if section.test_set and test_set is not None:
            parts[split][:0] = [_test_set_part(section, test_set)]
        elif section.hub_split and data.hub:
            wanted[split] = section.hub_split
        elif not parts[split] and split != "test":
            raise UserError(
                f"data.{split} names no text: set data.{split}.source and data.{split}.target to files (or .tsv, .jsonl, "
                f".parquet to files of pairs), data.{split}.test_set to the name of a test set, or data.hub to a data set "
                "of the Hugging Face hub"
            )
    if wanted:
        found = hub_parts(data, wanted, {split: _columns(sections[split], data) for split in wanted})
        for split, of_hub in found.items():
            section = sections[split]
            parts[split][:0] = [replace(part, weight=section.weight, tag=section.tag) for part in of_hub]
    return {split: Corpus(split, tuple(found)) for split, found in parts.items() if found}


def check_apart(corpora: Mapping[str, Corpus], output: Path) -> None:
    """UserError if a file that is read lies in the folder that will be replaced: it would be gone afterwards."""
    replaced = Path(os.path.realpath(output))
    for part in (part for corpus in corpora.values() for part in corpus.parts):
        for name in (part.source, part.target):
            if Path(name).is_file() and replaced in Path(os.path.realpath(name)).parents:
                raise UserError(f"{name}: lies in {output}, which is to be replaced: move it, or give another --output")


def _columns(corpus: schema.Corpus, data: schema.Data) -> tuple[str, str]:
    source, target = corpus.columns or (data.source_language, data.target_language)
    return source, target


def _file_parts(corpus: schema.Corpus, data: schema.Data) -> list[Part]:
    return [replace(part, weight=corpus.weight, tag=corpus.tag) for part in read_files(corpus, _columns(corpus, data))]


def _test_set_part(section: schema.Split, load: TestSetLoader) -> Part:
    source, target = load(section.test_set)
    text = "".join(f"{line}\n" for side in (source, target) for line in side).encode("utf-8", "surrogateescape")
    name, digest = section.test_set, xxhash.xxh3_128_hexdigest(text)

    def read() -> Iterator[tuple[str, str]]:
        return zip(source, target, strict=True)

    return Part(name, name, len(source), 0, read, len(text), tag=section.tag, digest=digest)
