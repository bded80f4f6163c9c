"""Text to token ids, on several processes at once: the same results in the same order for any number of them.

Comes in: chunks of sentence pairs. Goes out: each chunk with its token ids. Knows nothing of folders or of cleaning.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from mtkit.data.vocabularies import Vocabularies

_Sides = tuple[list[list[int]], list[list[int]]]  # token ids of the sources, of the targets


@dataclass(frozen=True)
class TextChunk:
    """Sentence pairs of a split that are encoded together, with the corpus line (from 1 over the whole split) of each."""

    source: Sequence[str]
    target: Sequence[str]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class EncodedChunk:
    """The same pairs with their token ids, without begin and end tokens."""

    text: TextChunk
    source: list[list[int]]
    target: list[list[int]]

    def __len__(self) -> int:
        return len(self.text)


def encode_chunks(
    vocabularies: Vocabularies, chunks: Iterable[TextChunk], workers: int, corpus: str
) -> Iterator[EncodedChunk]:
    """Encodes chunks in order. Holds about two chunks a worker in memory.

    RuntimeError naming `corpus` and the lines of the chunk if a worker fails or is killed.
    """
    if workers == 1:
        for chunk in chunks:
            try:
                yield EncodedChunk(chunk, *_encode(vocabularies, chunk.source, chunk.target))
            except Exception as error:
                raise _failure(error, corpus, chunk) from error
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_set_vocabularies, initargs=(vocabularies,)) as pool:
        waiting: deque[tuple[TextChunk, Future[_Sides]]] = deque()
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(_encode_in_worker, chunk.source, chunk.target)))
                if len(waiting) > 2 * workers:
                    yield _result(*waiting.popleft(), corpus)
            while waiting:
                yield _result(*waiting.popleft(), corpus)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _encode(vocabularies: Vocabularies, source: Sequence[str], target: Sequence[str]) -> _Sides:
    return vocabularies.source.encode(source), vocabularies.target.encode(target)


_vocabularies: Vocabularies | None = None  # of a worker process, set once when it starts


def _set_vocabularies(vocabularies: Vocabularies) -> None:
    global _vocabularies
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's business
    _vocabularies = vocabularies


def _encode_in_worker(source: Sequence[str], target: Sequence[str]) -> _Sides:
    assert _vocabularies is not None
    return _encode(_vocabularies, source, target)


def _result(chunk: TextChunk, future: Future[_Sides], corpus: str) -> EncodedChunk:
    try:
        return EncodedChunk(chunk, *future.result())
    except Exception as error:
        raise _failure(error, corpus, chunk) from error


def _failure(error: Exception, corpus: str, chunk: TextChunk) -> RuntimeError:
    killed = isinstance(error, BrokenProcessPool)
    cause = "a worker process was killed, probably out of memory: try fewer --workers" if killed else repr(error)
    return RuntimeError(f"encoding {corpus}, lines {chunk.lines[0]} to {chunk.lines[-1]}, failed: {cause}")
