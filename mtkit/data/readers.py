"""How sentence pairs are read from files: two text files, TSV, JSON lines, Parquet.

Comes in: names of files. Goes out: a `Part` for each, which can be read several times: both sides of every pair as they were
written, bytes that are not UTF-8 as surrogate escapes. Knows nothing of splits or of cleaning.
"""

import json
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from mtkit.config import schema
from mtkit.support.errors import UserError
from mtkit.support.lines import begins_with_mark, raw_lines

if TYPE_CHECKING:
    import pyarrow.parquet

ROWS = 1000
"""Rows of a table that are read at a time."""

BAD_BYTES = re.compile("[\udc80-\udcff]+")  # what `_text` makes of them
SURROGATES = re.compile("[\ud800-\udfff]")
NO_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the other surrogates


@dataclass(frozen=True)
class Part:
    """Files that belong together, or one split of a hub data set: names for messages, the number of pairs, a reader."""

    source: str
    target: str
    pairs: int
    byte_order_marks: int
    read: Callable[[], Iterator[tuple[str, str]]]
    size: int = 0  # bytes of text, about
    weight: float = 1.0  # how often an epoch of training has each pair
    tag: str = ""  # put before each source
    digest: str = ""  # of the content, or what else changes with it

    @property
    def identity(self) -> list[str | int | float]:
        """All that tells it from another."""
        measures = [self.pairs, self.byte_order_marks, self.size, self.weight]
        return [self.source, self.target, self.tag, self.digest, *measures]

    def __str__(self) -> str:
        return self.source if self.source == self.target else f"{self.source} + {self.target}"


def two_files(source: str, target: str) -> Part:
    """Line n of `target` translates line n of `source`. UserError if one of them has more lines, or cannot be read."""
    source_lines, source_size, source_digest = _measured(source)
    target_lines, target_size, target_digest = _measured(target)
    if source_lines != target_lines:
        raise UserError(f"line counts differ: {source} {source_lines} lines, {target} {target_lines} lines")

    def read() -> Iterator[tuple[str, str]]:
        try:
            for raw_source, raw_target in zip(raw_lines(source), raw_lines(target), strict=True):
                yield _text(raw_source), _text(raw_target)
        except ValueError:
            raise UserError(f"{source} and {target} changed while they were read: run the command again") from None

    marks = begins_with_mark(source) + begins_with_mark(target)
    size, digest = source_size + target_size, f"{source_digest} {target_digest}"
    return Part(source, target, source_lines, marks, read, size, digest=digest)


def tsv_file(name: str) -> Part:
    """Fields are split at U+0009 and nowhere else: a quotation mark is text."""

    def read() -> Iterator[tuple[str, str]]:
        for line, raw in enumerate(raw_lines(name), 1):
            fields = raw.split(b"\t")
            if len(fields) != 2:
                raise UserError(f"{name}:{line}: {len(fields)} field(s) where source TAB target should be: mend the line")
            yield _text(fields[0]), _text(fields[1])

    lines, size, digest = _measured(name)
    return Part(name, name, lines, begins_with_mark(name), read, size, digest=digest)


def json_file(name: str, columns: tuple[str, str]) -> Part:
    """A JSON object a line, with both columns at the top or under `translation`. UserError naming a line that is not so."""

    def read() -> Iterator[tuple[str, str]]:
        for line, raw in enumerate(raw_lines(name), 1):
            text = _text(raw)
            try:
                row = json.loads(text)
                row = row.get("translation", row)
                source, target = (_json_text(row[column], bad=bool(BAD_BYTES.search(text))) for column in columns)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise UserError(
                    f"{name}:{line}: no JSON object with text under '{columns[0]}' and '{columns[1]}': mend the line, or "
                    "name the columns with `columns`"
                ) from None
            yield source, target

    lines, size, digest = _measured(name)
    return Part(name, name, lines, begins_with_mark(name), read, size, digest=digest)


def parquet_file(name: str, columns: tuple[str, str]) -> Part:
    """A Parquet file with both columns at the top or under `translation`. UserError if it is damaged or has not both."""
    file = _parquet(name)
    nested = nested_columns(file.schema_arrow, columns, name)

    def read() -> Iterator[tuple[str, str]]:
        for batch in _batches(name, ["translation"] if nested else list(columns)):
            yield from rows(batch, columns, nested=nested)

    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    size, about = sum(group.total_byte_size for group in groups), Path(name).stat()
    digest = f"{about.st_size} {about.st_mtime_ns} {Path(name).resolve()}"  # the hub's cache names files by their content
    return Part(name, name, file.metadata.num_rows, 0, read, size, digest=digest)


def read_files(corpus: schema.Corpus, columns: tuple[str, str]) -> list[Part]:
    """The parts of a corpus that names files. UserError for what cannot be read."""
    readers: Mapping[str, Callable[[str], Part]] = {
        "tsv": tsv_file,
        "jsonl": lambda name: json_file(name, columns),
        "parquet": lambda name: parquet_file(name, columns),
    }
    for option, names in corpus.origins.items():
        if option == "source":
            pairs = zip(corpus.source, corpus.target, strict=True)
            found = [pair for patterns in pairs for pair in _expanded_together(*patterns)]
            for name in chain.from_iterable(found):
                _check_file(name)
            return [two_files(*pair) for pair in found]
        alone = [name for pattern in names for _, name in _expanded(pattern)]
        for name in alone:
            _check_file(name)
        return [readers[option](name) for name in alone]
    return []


def _expanded(pattern: str) -> list[tuple[tuple[str, ...], str]]:
    """The files that a name with * or ? stands for, sorted, each with what the wild parts are in it."""
    from glob import glob

    if not re.search(r"[*?]", pattern):
        return [((), pattern)]
    escaped = pattern.replace("[", "[[]")  # a bracket is a bracket
    wild = re.compile(re.escape(pattern).replace(r"\*", "(.*)").replace(r"\?", "(.)"), re.DOTALL)
    found = sorted(glob(escaped))  # noqa: PTH207 - of any folder, as the user spelt it
    if not found:
        raise UserError(f"{pattern}: no file has such a name")
    matches = [(match.groups() if (match := wild.fullmatch(name)) else (), name) for name in found]
    return matches


def _expanded_together(source: str, target: str) -> list[tuple[str, str]]:
    """The pairs of files that two names stand for. UserError unless the wild parts agree: a.en goes with a.de."""
    sources, targets = _expanded(source), _expanded(target)
    alone = {wild for wild, _ in sources} ^ {wild for wild, _ in targets}
    if len(sources) != len(targets) or alone:
        lonely = [name for wild, name in (*sources, *targets) if wild in alone] or [source, target]
        raise UserError(f"{source} and {target} stand for different files: {lonely[0]} has no counterpart")
    return [(name, other) for (_, name), (_, other) in zip(sources, targets, strict=True)]


def _check_file(name: str) -> None:
    """UserError unless it is a file, which can be read more than once."""
    try:
        mode = Path(name).stat().st_mode
    except FileNotFoundError:
        raise UserError(f"{Path(name).absolute()}: no such file") from None
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise UserError(f"{name}: cannot be read: is a folder: name the files in it")
    if not stat.S_ISREG(mode):
        raise UserError(f"{name}: is a pipe or a device, but text is read more than once: write it to a file first")


def _measured(name: str) -> tuple[int, int, str]:
    """Lines and bytes of a text file, and a hash of them."""
    lines = size = 0
    content = xxhash.xxh3_128()
    for raw in raw_lines(name):
        lines += 1
        size += len(raw) + 1
        content.update(raw + b"\n")
    return lines, size, content.hexdigest()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="surrogateescape")


def _json_text(value: Any, *, bad: bool) -> str:
    """A value as text: nothing is empty text, tabs are spaces. TypeError if it is no text.

    Half characters, which JSON can spell, do not survive, but for what stands for `bad` bytes.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(value)
    return (NO_BYTES if bad else SURROGATES).sub("\ufffd", value.replace("\t", " "))


def _parquet(name: str) -> "pyarrow.parquet.ParquetFile":
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(name)
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{name}: cannot be read: {' '.join(str(error).split())}") from None


def _batches(name: str, columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow

    try:
        with _parquet(name) as file:
            yield from file.iter_batches(ROWS, columns=list(columns), use_threads=False)
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{name}: cannot be read: {' '.join(str(error).split())}") from None


def nested_columns(table: "pyarrow.Schema", columns: tuple[str, str], name: str) -> bool:
    """Whether both columns lie under `translation`. UserError if they are nowhere, there twice, or are not text."""
    from pyarrow import types

    nested = table.names.count("translation") == 1 and bool(types.is_struct(table.field("translation").type))
    fields = list(table.field("translation").type if nested else table)
    known = [field.name for field in fields]
    for column in columns:
        if column not in known:
            raise UserError(
                f"{name} has no '{column}' (it has {', '.join(known)}): set data.source_language and "
                "data.target_language, name the columns with `columns`, or take another data.hub_config"
            )
        if known.count(column) > 1:
            raise UserError(f"{name} has '{column}' twice: give each column a name of its own")
        kind = fields[known.index(column)].type
        text = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_string(text) or types.is_large_string(text) or types.is_string_view(text)):
            raise UserError(f"{name}: '{column}' holds {kind}, not text: name other columns with `columns`")
    return nested


def rows(table: Any, columns: tuple[str, str], *, nested: bool) -> Iterator[tuple[str, str]]:
    """The pairs of a table or a batch of one: nothing is empty text, tabs are spaces, bad bytes are kept."""
    import pyarrow
    import pyarrow.compute

    sides = (pyarrow.compute.struct_field(table["translation"], column) if nested else table[column] for column in columns)
    values = (side.cast(pyarrow.large_binary()).to_pylist() for side in sides)
    for source, target in zip(*values, strict=True):
        yield _text(source or b"").replace("\t", " "), _text(target or b"").replace("\t", " ")
