"""Work that goes on where it was interrupted: stages, each with files that only grow and a state that says how far it is.

Now and then, and at its end, a stage commits: its files are flushed to the disk, then one small file with the state, and
with the size and a hash of each of the files, replaces the one before. Whoever takes the stage up finds the state as it was
then and the files cut to what they were then. Nothing is trusted that is not exactly what was committed. Knows nothing of
what the work is; a state is any dataclass that pydantic can write as JSON and read back.
"""

import base64
import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from mtkit.support.files import whole_file

PAUSE = 20.0
"""Seconds between commits, at least; a stage that took less than a twentieth of it is sooner done again than kept."""

COMMIT = ".commit"
"""Ending of the file with what a stage has committed."""

SHARE = 50
"""The next commit waits so many times as long as the last one took."""


def _array(value: Any) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    kind, shape, content = value
    return np.frombuffer(base64.b64decode(content), np.dtype(kind)).reshape(shape).copy()


def _text(array: NDArray[Any]) -> tuple[str, tuple[int, ...], str]:
    return array.dtype.str, array.shape, base64.b64encode(array.tobytes()).decode()


Kept = Annotated[NDArray[Any], PlainValidator(_array), PlainSerializer(_text)]
"""An array in a state."""


class DamagedError(Exception):
    """What was left of a stage is not what was committed."""


class GrowingFile:
    """A file that is written from front to back: how long it is, and a hash of all that is in it."""

    def __init__(self, path: Path, size: int = 0, digest: str | None = None) -> None:
        """The first `size` bytes of a file that is there are taken over. DamagedError if `digest` is not theirs."""
        self.path = path
        self.size = size
        self._hash = xxhash.xxh3_128()
        self._stream: BinaryIO | None = None
        if digest is not None and self._read() != digest:
            raise DamagedError(path.name)

    def _read(self) -> str | None:
        left = self.size
        try:
            with self.path.open("rb") as stream:
                while left and (block := stream.read(min(left, 1 << 20))):
                    self._hash.update(block)
                    left -= len(block)
        except OSError:
            return None
        return None if left else self._hash.hexdigest()

    def open(self) -> None:
        """Makes it ready to be written on."""
        self._stream = self.path.open("r+b" if self.size else "wb")
        self._stream.truncate(self.size)
        self._stream.seek(self.size)

    def write(self, data: bytes) -> None:
        """Adds bytes."""
        assert self._stream is not None
        self._stream.write(data)
        self._hash.update(data)
        self.size += len(data)

    def flush(self, *, sync: bool) -> tuple[int, str]:
        """Puts all bytes where others find them, with `sync` onto the disk; returns size and hash."""
        if self._stream is not None:
            self._stream.flush()
            if sync:
                os.fsync(self._stream.fileno())
        return self.size, self._hash.hexdigest()

    def close(self) -> None:
        """Closes it."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


State = TypeVar("State")


@dataclass(frozen=True)
class _Commit:
    """What is written down of a stage beside its state."""

    done: bool
    files: dict[str, tuple[int, str]]


class Stage(Generic[State]):
    """One stage of the work in `folder`: as it was committed, or fresh."""

    def __init__(self, folder: Path, name: str, fresh: State, files: Sequence[Path] = ()) -> None:
        """`fresh` is its state at the beginning. DamagedError if what was committed is no longer there."""
        self.name = name
        self.state = fresh
        self.done = False
        self.taken_up = False
        self._place = folder / f"{name.replace(' ', '-')}{COMMIT}"
        self._adapter: TypeAdapter[State] = TypeAdapter(type(fresh))
        extents = self._load() if self._place.exists() else {}
        self.files = [GrowingFile(path, *extents.get(path.name, (0, None))) for path in files]
        self._begun = time.monotonic()
        self._next = self._begun + PAUSE

    def _load(self) -> dict[str, tuple[int, str]]:
        digest, told, state = (*self._place.read_bytes().split(b"\n", 2), b"", b"")[:3]
        if digest.decode("ascii", "replace") != _digest(told, state):
            raise DamagedError(self._place.name)
        try:
            self.state = self._adapter.validate_json(state)
            commit = TypeAdapter(_Commit).validate_json(told)
        except ValidationError:
            raise DamagedError(self._place.name) from None
        self.done, self.taken_up = commit.done, True
        return commit.files

    @contextlib.contextmanager
    def writing(self) -> Iterator[Sequence[GrowingFile]]:
        """Its files, to be written on. The stage is done once the block ends well."""
        self._begun = time.monotonic()
        self._next = self._begun + PAUSE
        with contextlib.ExitStack() as stack:
            for file in self.files:
                file.open()
                stack.callback(file.close)
            yield self.files
            self.done = True
            if time.monotonic() - self._begun >= PAUSE / 20:
                self._write()
            else:
                for file in self.files:
                    file.flush(sync=False)

    def commit(self) -> None:
        """To be called where state and files belong together: makes this a point to go on from, if it is time to."""
        if time.monotonic() >= self._next:
            begin = time.monotonic()
            self._write()
            end = time.monotonic()
            self._next = end + max(PAUSE, SHARE * (end - begin)) if PAUSE else end

    def _write(self) -> None:
        extents = {file.path.name: file.flush(sync=True) for file in self.files}
        told = json.dumps({"done": self.done, "files": extents}).encode()
        state = self._adapter.dump_json(self.state)  # may be large: it is not copied
        with whole_file(self._place) as stream:
            stream.write(f"{_digest(told, state)}\n".encode() + told + b"\n")
            stream.write(state)


def _digest(told: bytes, state: bytes) -> str:
    digest = xxhash.xxh3_128(told)
    digest.update(state)
    return digest.hexdigest()
