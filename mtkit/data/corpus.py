"""Where sentence pairs come from: pairs of text files, TSV files, or a data set of the Hugging Face hub.

Comes in: the `data` section of a config. Goes out: a `Corpus` for each split, a stream of `SentencePair`s as they were
written: bytes that are not UTF-8 are still in them, as surrogate escapes. Knows nothing of cleaning or vocabularies.
"""

import gzip
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtkit.config import schema
from mtkit.support.errors import UserError
from mtkit.support.lines import BYTE_ORDER_MARK, count_lines, raw_lines

SPLITS = ("train", "validation", "test")

HUB_ROWS = {("wmt/wmt14", "de-en"): {"train": 4_508_785, "validation": 3_000, "test": 3_003}}
"""Rows that well-known data sets must have; another number means a broken download or another data set."""

HUB_MEGABYTES = {("wmt/wmt14", "de-en"): 818}


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation as read, with their line (from 1) in the part of the corpus they come from."""

    source: str
    target: str
    line: int
    part: "Part"


@dataclass(frozen=True)
class Part:
    """Files that belong together, or one split of a hub data set: names for messages, the number of pairs, a reader."""

    source: str
    target: str
    pairs: int
    byte_order_marks: int
    read: Callable[[], Iterator[tuple[str, str]]]

    def __str__(self) -> str:
        return self.source if self.source == self.target else f"{self.source} + {self.target}"


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


def open_corpora(data: schema.Data) -> dict[str, Corpus]:
    """The corpus of every split that has an origin; files named for a split win over the hub data set.

    All files are counted before anything is downloaded. UserError if train or validation has no origin, a file cannot be
    read, files of a pair have different numbers of lines, or the hub data set cannot be had.
    """
    sections: dict[str, schema.Split] = {"train": data.train, "validation": data.validation, "test": data.test}
    corpora = {}
    for split, section in sections.items():
        if section.source or section.tsv:
            pairs = zip(section.source, section.target, strict=True)
            parts = [_two_files(source, target) for source, target in pairs] + [_one_tsv(name) for name in section.tsv]
            corpora[split] = Corpus(split, tuple(parts))
        elif split != "test" and not (data.hub and section.hub_split):
            raise UserError(
                f"data.{split} names no text: set data.{split}.source and data.{split}.target to files "
                "(or .tsv to one), or data.hub to a data set of the Hugging Face hub"
            )
    wanted = {split: section.hub_split for split, section in sections.items() if split not in corpora and section.hub_split}
    if data.hub and wanted:
        _announce(data)
        for split, hub_split in wanted.items():
            corpora[split] = Corpus(split, (_hub_split(data, hub_split),))
    return corpora


def _two_files(source: str, target: str) -> Part:
    source_lines, target_lines = count_lines(source), count_lines(target)
    if source_lines != target_lines:
        raise UserError(f"line counts differ: {source} {source_lines} lines, {target} {target_lines} lines")

    def read() -> Iterator[tuple[str, str]]:
        for raw_source, raw_target in zip(raw_lines(source), raw_lines(target), strict=True):
            yield _text(raw_source), _text(raw_target)

    return Part(source, target, source_lines, _marks(source) + _marks(target), read)


def _one_tsv(name: str) -> Part:
    """Fields are split at U+0009 and nowhere else: a quotation mark is text."""

    def read() -> Iterator[tuple[str, str]]:
        for line, raw in enumerate(raw_lines(name), 1):
            fields = raw.split(b"\t")
            if len(fields) != 2:
                raise UserError(f"{name}:{line}: {len(fields)} field(s) where source TAB target should be: mend the line")
            yield _text(fields[0]), _text(fields[1])

    return Part(name, name, count_lines(name), _marks(name), read)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="surrogateescape")


def _marks(name: str) -> int:
    """1 if the file begins with a byte-order mark, which `raw_lines` leaves out."""
    path = Path(name)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        return int(stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK)


def _announce(data: schema.Data) -> None:
    """One line before what may be a long download."""
    if Path(data.hub).is_dir():
        return
    megabytes = HUB_MEGABYTES.get((data.hub, data.hub_config))
    print(
        f"reading {data.hub} {data.hub_config} from the Hugging Face hub: "
        f"{f'{megabytes} MB' if megabytes else 'an unknown size'} to download unless already in the cache (HF_HOME)",
        file=sys.stderr,
    )


def _hub_split(data: schema.Data, split: str) -> Part:
    name = " ".join(filter(None, (data.hub, data.hub_config, split)))
    rows = _load(data, split, name)
    expected = HUB_ROWS.get((data.hub, data.hub_config), {}).get(split, len(rows))
    if len(rows) != expected:
        raise UserError(
            f"hub data set {name}: {len(rows):,} rows where {expected:,} should be: remove it from the cache "
            "and load it again, or name its revision with data.hub_revision"
        )
    _check_languages(rows, data, name)

    def read() -> Iterator[tuple[str, str]]:
        for batch in rows.iter(batch_size=1000):
            if "translation" in batch:
                pairs = [(row[data.source_language], row[data.target_language]) for row in batch["translation"]]
            else:
                pairs = list(zip(batch[data.source_language], batch[data.target_language], strict=True))
            for source, target in pairs:
                yield (source or "").replace("\t", " "), (target or "").replace("\t", " ")

    return Part(name, name, len(rows), 0, read)


def _load(data: schema.Data, split: str, name: str) -> Any:
    """A `datasets.Dataset`, downloaded or from the cache. UserError saying how to go on where it cannot be had."""
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    cache = datasets.config.HF_DATASETS_CACHE
    try:
        return datasets.load_dataset(data.hub, data.hub_config or None, split=split, revision=data.hub_revision or None)
    except ConnectionError as error:
        raise UserError(
            f"hub data set {name} can neither be reached nor found in the cache {cache}: {_first_line(error)}. "
            f"Without a network use local files (--set data.train.source=FILE --set data.train.target=FILE, likewise "
            "data.validation and data.test), a local folder in the hub's layout (--set data.hub=FOLDER), or a filled cache "
            "(HF_HOME=FOLDER, with HF_HUB_OFFLINE=1 to skip the attempts to connect)"
        ) from None
    except (FileNotFoundError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UserError(
            f"hub data set {name} cannot be read: {_first_line(error)}: check data.hub, data.hub_config "
            "and the hub_split of each split ('' for none)"
        ) from None


def _check_languages(rows: Any, data: schema.Data, name: str) -> None:
    """UserError unless the rows hold both languages, nested in `translation` or as columns of their own."""
    columns: list[str] = rows.column_names
    feature = rows.features.get("translation")
    if feature is not None:
        columns = list(getattr(feature, "languages", None) or feature)
    for language in (data.source_language, data.target_language):
        if language not in columns:
            raise UserError(
                f"hub data set {name} has no '{language}' (it has {', '.join(columns)}): "
                "set data.source_language and data.target_language, or another data.hub_config"
            )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
