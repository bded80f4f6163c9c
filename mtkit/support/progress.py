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


def shown(chunks: Iterable[Chunk], what: str, total: int) -> Iterator[Chunk]:
    """Passes `chunks` of lines on and shows how many of `total` lines went by, their rate and the time left."""
    if sys.stderr.isatty():
        with tqdm(total=total, desc=what, unit=" lines", unit_scale=True) as bar:
            for chunk in chunks:
                yield chunk
                bar.update(len(chunk))
        return
    begin = last = time.monotonic()
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        now = time.monotonic()
        if now - last >= INTERVAL and done < total:
            last = now
            rate = done / (now - begin)
            print(
                f"{what}: {done:,} of {total:,} lines, {rate:,.0f} lines/s, {(total - done) / rate:.0f} s left",
                file=sys.stderr,
            )
    rate = done / max(time.monotonic() - begin, 1e-9)
    print(f"{what}: {done:,} lines, {rate:,.0f} lines/s", file=sys.stderr)
