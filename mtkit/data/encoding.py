"""Text to token ids, on several processes at once.

Comes in: chunks of sentence pairs. Goes out: each chunk with its token ids. Knows nothing of folders or of cleaning.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mtkit.data.binarized import Rows
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.workers import in_order


@dataclass(frozen=True)
class TextChunk:
    """Sentence pairs of a split that are encoded together, with the corpus line (from 1 over the whole split) of each."""

    source: Sequence[str]
    target: Sequence[str]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def span(self) -> tuple[int, int]:
        """First and last corpus line."""
        return self.lines[0], self.lines[-1]


@dataclass(frozen=True)
class EncodedChunk:
    """The same pairs with their token ids, without begin and end tokens."""

    text: TextChunk
    source: Rows
    target: Rows

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class _Encode:
    """What a worker does."""

    vocabularies: Vocabularies
    normalised: bool

    def __call__(self, chunk: TextChunk) -> tuple[Rows, Rows]:
        source, target = self.vocabularies.source, self.vocabularies.target
        if not self.normalised:
            return Rows.of(source.encode(chunk.source)), Rows.of(target.encode(chunk.target))
        return Rows.of(source.encode_normalised(chunk.source)), Rows.of(target.encode_normalised(chunk.target))


def encode_chunks(
    vocabularies: Vocabularies, chunks: Iterable[TextChunk], workers: int, corpus: str, *, normalised: bool = False
) -> Iterator[EncodedChunk]:
    """Encodes chunks in order. Text that is `normalised` already, as that of cleaned training pairs is, takes less time.

    RuntimeError naming `corpus` and the lines of the chunk if a worker fails or is killed.
    """
    for chunk, (source, target) in in_order(_Encode(vocabularies, normalised), chunks, workers, f"encoding {corpus}"):
        yield EncodedChunk(chunk, source, target)
