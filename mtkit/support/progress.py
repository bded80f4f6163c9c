"""Progress of long work over lines, on stderr: a bar on a terminal, now and then a plain line elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm import tqdm

INTERVAL = 20.0
"""Seconds between plain progress lines."""

Chunk = TypeVar("Chunk", bound=Sized)


def duration(seconds: float) -> str:
    """65 -> '1m05s', 7500 -> '2h05m'."""
    if seconds < 3600:
        return f"{int(seconds // 60)}m{int(seconds % 60):02d}s"
    return f"{int(seconds // 3600)}h{int(seconds % 3600 // 60):02d}m"


def shown(
    chunks: Iterable[Chunk],
    what: str,
    total: int | None,
    *,
    before: int = 0,
    bar: bool | None = None,
    summary: bool = True,
) -> Iterator[Chunk]:
    """Passes `chunks` of lines on and shows how many of `total` lines went by, their rate and the time left.

    total: None = nobody knows; before: how many of them an earlier process did; bar: whether there is a bar, by default if
    stderr is a terminal; summary: whether a line without a bar comes at the end too.
    """
    if sys.stderr.isatty() if bar is None else bar:
        with tqdm(total=total, initial=before, desc=what, unit=" lines", unit_scale=True) as shows:
            for chunk in chunks:
                yield chunk
                shows.update(len(chunk))
        return
    begin = last = time.monotonic()
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        now = time.monotonic()
        if now - last >= INTERVAL and (total is None or before + done < total):
            last = now
            rate = done / (now - begin)
            of, left = (
                ("", "") if total is None else (f" of {total:,}", f", {duration((total - before - done) / rate)} left")
            )
            print(f"{what}: {before + done:,}{of} lines, {rate:,.1f} lines/s{left}", file=sys.stderr)
    if not summary:
        return
    rate = done / max(time.monotonic() - begin, 1e-9)
    print(f"{what}: {done:,} lines, {rate:,.1f} lines/s", file=sys.stderr)
