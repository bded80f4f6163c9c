"""Work on chunks of a corpus by several processes at once: the same results in the same order for any number of them.

Comes in: chunks, and what is done with each: a callable that can be pickled. Goes out: each chunk with its result. Knows
nothing of what the work is.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from mtkit.support.errors import UserError


class Chunk(Protocol):
    """Neighbouring lines of a corpus."""

    @property
    def span(self) -> tuple[int, int]:
        """First and last line, from 1."""

    def __len__(self) -> int: ...


In = TypeVar("In", bound=Chunk)
Out = TypeVar("Out")


def in_order(work: Callable[[In], Out], chunks: Iterable[In], workers: int, what: str) -> Iterator[tuple[In, Out]]:
    """Each chunk with `work(chunk)`, in order. Holds about two chunks a worker in memory.

    RuntimeError naming `what` is done and the lines of the chunk if a worker fails or is killed; a UserError stays one.
    """
    if workers == 1:
        for chunk in chunks:
            try:
                done = work(chunk)
            except Exception as error:
                raise _failure(error, what, chunk) from error
            yield chunk, done
        return
    context = multiprocessing.get_context("spawn")
    start: Any = {"initializer": _set_work, "initargs": (work,)}  # no type says that they belong together
    with ProcessPoolExecutor(workers, context, **start) as pool:
        waiting: deque[tuple[In, Future[Out]]] = deque()
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(_do, chunk)))
                if len(waiting) > 2 * workers:
                    yield _result(*waiting.popleft(), what)
            while waiting:
                yield _result(*waiting.popleft(), what)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_work: Callable[[Chunk], Any] | None = None  # of a worker process, set once when it starts


def _set_work(work: Callable[[Chunk], Any]) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's business
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = work


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(chunk: Chunk) -> Any:
    assert _work is not None
    return _work(chunk)


def _result(chunk: In, future: "Future[Out]", what: str) -> tuple[In, Out]:
    try:
        return chunk, future.result()
    except Exception as error:
        raise _failure(error, what, chunk) from error


def _failure(error: Exception, what: str, chunk: Chunk) -> Exception:
    if isinstance(error, UserError):
        return error
    killed = isinstance(error, BrokenProcessPool)
    cause = "a worker process was killed, probably out of memory: try fewer --workers" if killed else repr(error)
    first, last = chunk.span
    return RuntimeError(f"{what}, lines {first} to {last}, failed: {cause}")
