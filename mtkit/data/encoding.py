"""Text to token ids, on several processes at once.

Comes in: chunks of sentence pairs. Goes out: each chunk with its token ids. Knows nothing of folders or of cleaning.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtkit.data.binarized import Rows
from mtkit.data.cleaning import unescape
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.workers import in_order

Index = NDArray[np.int64]
LINE, SOURCE_END, TARGET_END = range(3)
INDEX_TYPE = np.dtype("<i8")


def line_ends(text: bytes) -> Index:
    """Where each line of a text ends, behind its `\\n`."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1


@dataclass(frozen=True)
class TextChunk:
    """n sentence pairs of a split that are encoded together: UTF-8 text of both sides, each line with its end."""

    source: bytes
    target: bytes
    index: Index  # [n, 3] corpus line (from 1 over the whole split); where source and target end, in any common count

    def __len__(self) -> int:
        return len(self.index)

    @property
    def span(self) -> tuple[int, int]:
        """First and last corpus line."""
        return int(self.index[0, LINE]), int(self.index[-1, LINE])

    def pair(self, number: int) -> tuple[str, str]:
        """One of the pairs as text."""
        return self._line(self.source, SOURCE_END, number), self._line(self.target, TARGET_END, number)

    def _line(self, text: bytes, end: int, number: int) -> str:
        base = int(self.index[-1, end]) - len(text)  # where the chunk begins
        begin = int(self.index[number - 1, end]) - base if number else 0
        return text[begin : int(self.index[number, end]) - base - 1].decode()

    def where(self, mask: NDArray[np.bool_]) -> tuple[bytes, bytes]:
        """The text of the pairs at which `mask` [n] is True."""
        if mask.all():
            return self.source, self.target
        sides = ((self.source, SOURCE_END), (self.target, TARGET_END))
        source, target = (
            np.frombuffer(text, np.uint8)[
                np.repeat(mask, np.diff(self.index[:, end], prepend=self.index[-1, end] - len(text)))
            ]
            for text, end in sides
        )
        return source.tobytes(), target.tobytes()


@dataclass(frozen=True)
class TextFiles:
    """Pairs on disk: text of both sides, and for each pair the row of a chunk's index, counted from the files' beginning."""

    source: Path
    target: Path
    index: Path

    def chunks(self, size: int, begin: int = 0) -> Iterator[TextChunk]:
        """All pairs but the first `begin`, `size` at a time."""
        row = 3 * INDEX_TYPE.itemsize
        with self.source.open("rb") as source, self.target.open("rb") as target, self.index.open("rb") as rows:
            if begin:
                rows.seek((begin - 1) * row)
                _, *at = np.frombuffer(rows.read(row), INDEX_TYPE).tolist()
                source.seek(at[0])
                target.seek(at[1])
            while read := rows.read(size * row):
                index = np.frombuffer(read, INDEX_TYPE).reshape(-1, 3)
                ends = index[-1].tolist()
                sides = source.read(ends[SOURCE_END] - source.tell()), target.read(ends[TARGET_END] - target.tell())
                yield TextChunk(*sides, index)


@dataclass(frozen=True)
class EncodedChunk:
    """The same pairs with their token ids, without begin and end tokens, and how many characters each side has."""

    text: TextChunk
    source: Rows
    target: Rows
    characters: Index  # [n, 2]

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class _Encode:
    """What a worker does."""

    vocabularies: Vocabularies
    normalised: bool
    unescaped: bool

    def __call__(self, chunk: TextChunk) -> tuple[Rows, Rows, Index]:
        vocabularies = self.vocabularies
        sources, targets = (text.decode().split("\n")[:-1] for text in (chunk.source, chunk.target))
        characters = np.array([list(map(len, sources)), list(map(len, targets))], dtype=np.int64).T
        if self.normalised:
            sides = vocabularies.source.encode_normalised(sources), vocabularies.target.encode_normalised(targets)
            return Rows.of(sides[0]), Rows.of(sides[1]), characters
        if self.unescaped:
            targets = list(map(unescape, targets))  # the numbers are for the model, which knows no entities; the text stays
        return Rows.of(vocabularies.source.encode(sources)), Rows.of(vocabularies.target.encode(targets)), characters


def encode_chunks(
    vocabularies: Vocabularies,
    chunks: Iterable[TextChunk],
    workers: int,
    corpus: str,
    *,
    normalised: bool = False,
    unescaped: bool = False,
) -> Iterator[EncodedChunk]:
    """Encodes chunks in order. Text that is `normalised` already, as that of cleaned training pairs is, takes less time;
    in that of references entities are `unescaped`.

    RuntimeError naming `corpus` and the lines of the chunk if a worker fails or is killed.
    """
    work = _Encode(vocabularies, normalised, unescaped)
    for chunk, encoded in in_order(work, chunks, workers, f"encoding {corpus}"):
        yield EncodedChunk(chunk, *encoded)
