"""The numbered sentence pairs of one split on disk, read through memory maps.

Comes in: lists of token ids, pair by pair. Goes out: the same ids as arrays, and the lengths of all sentences. Knows
nothing of text or vocabularies. Neither begin nor end tokens are stored. For split `train` the files are
`train.source.bin` and `train.target.bin` (all tokens in a row), `train.index.bin` (a row of three int64 for each pair:
where its source ends, where its target ends, its line in the corpus) and `train.pairs.json` (how many there are).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mtkit.data.stages import GrowingFile
from mtkit.support.errors import UserError

INDEX_TYPE = np.dtype("<i8")
BLOCK = 1 << 20
"""Pairs whose lengths are looked at together: memory does not grow with the corpus."""
TOKEN_TYPES: dict[str, np.dtype[np.unsignedinteger]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}


@dataclass(frozen=True)
class Rows:
    """Token ids of n sentences in one array, one after another, and how many each has [n]."""

    tokens: npt.NDArray[np.integer]
    lengths: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]] | Sequence[npt.NDArray[np.int32]]) -> "Rows":
        """Sentences as lists or arrays."""
        lengths = np.fromiter(map(len, rows), dtype=np.int32, count=len(rows))
        if rows and isinstance(rows[0], np.ndarray):
            tokens = np.concatenate(rows)
        else:
            tokens = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(lengths.sum()))
        return cls(tokens.astype(np.uint16) if len(tokens) and tokens.max() < 65536 else tokens, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def where(self, mask: npt.NDArray[np.bool_]) -> "Rows":
        """The sentences at which `mask` [n] is True."""
        return self if mask.all() else Rows(self.tokens[np.repeat(mask, self.lengths)], self.lengths[mask])

    def prefixed(self, tokens: npt.NDArray[np.int64]) -> "Rows":
        """Each sentence with its own of `tokens` [n] before it; none where that is negative."""
        mask = tokens >= 0
        starts = np.cumsum(self.lengths) - self.lengths
        with_prefix = np.insert(self.tokens.astype(np.int32), starts[mask], tokens[mask])
        return Rows(with_prefix, self.lengths + mask.astype(np.int32))

    def tolist(self) -> list[list[int]]:
        """The sentences as lists."""
        return [row.tolist() for row in np.split(self.tokens, np.cumsum(self.lengths)[:-1])] if len(self) else []


def pair_files(folder: Path, split: str) -> list[Path]:
    """The files of a split."""
    return [folder / f"{split}.{name}" for name in ("source.bin", "target.bin", "index.bin", "pairs.json")]


class PairWriter:
    """Writes the pairs of one split, a chunk at a time; only `finish` makes them readable."""

    def __init__(self, files: Sequence[GrowingFile], vocabulary_size: int) -> None:
        """`files` are those of `pair_files`, opened; it goes on behind what is in them."""
        self._source, self._target, self._index, self._about = files
        self._type = "uint16" if vocabulary_size <= 65536 else "uint32"

    def write(self, source: Rows, target: Rows, lines: npt.NDArray[np.int64]) -> None:
        """Adds pairs: token ids without end tokens, and the corpus line of each."""
        assert len(source) == len(target) == len(lines)
        ends = []
        for file, side in ((self._source, source), (self._target, target)):
            ends.append(self._tokens(file) + np.cumsum(side.lengths, dtype=np.int64))
            file.write(side.tokens.astype(TOKEN_TYPES[self._type]).tobytes())
        self._index.write(np.column_stack([*ends, lines]).astype(INDEX_TYPE).tobytes())

    def _tokens(self, file: GrowingFile) -> int:
        return file.size // TOKEN_TYPES[self._type].itemsize

    def finish(self) -> None:
        """Writes down what the files hold."""
        held = {
            "pairs": self._index.size // (3 * INDEX_TYPE.itemsize),
            "type": self._type,
            "source_tokens": self._tokens(self._source),
            "target_tokens": self._tokens(self._target),
        }
        self._about.write(json.dumps(held).encode() + b"\n")


@dataclass(frozen=True)
class Weights:
    """How often an epoch has each pair: those up to `ends[k]`, after those of `ends[k - 1]`, `of_parts[k]` times."""

    ends: npt.NDArray[np.int64]
    of_parts: npt.NDArray[np.float64]

    def at(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The weight of each of these pairs."""
        return self.of_parts[np.searchsorted(self.ends, numbers, side="right")]

    @property
    def total(self) -> float:
        """The sum of the weights of all pairs."""
        return float(np.diff(self.ends, prepend=0) @ self.of_parts)


class Pairs:
    """The numbered pairs of one split. Lengths count tokens without the end token."""

    def __init__(
        self,
        source: npt.NDArray[np.integer],
        target: npt.NDArray[np.integer],
        index: npt.NDArray[np.integer],
        weights: Weights | None = None,
    ) -> None:
        """`source` and `target` are all tokens in a row; `index` is (pairs, 3): source end, target end, corpus line.

        `weights` is None where each pair has weight 1.
        """
        self._source = np.asarray(source)  # a plain view: slicing a memmap object is slow and yields memmaps
        self._target = np.asarray(target)
        self._index = np.asarray(index)
        self.weights = weights

    @property
    def source_lengths(self) -> npt.NDArray[np.int32]:
        """Those of all sources: for a small split, or where there is no other way."""
        return self.lengths(0, len(self))[0]

    @property
    def target_lengths(self) -> npt.NDArray[np.int32]:
        """Those of all targets."""
        return self.lengths(0, len(self))[1]

    def lengths(self, first: int, last: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Lengths of the sources and of the targets of pairs `first` to `last` - 1."""
        ends = np.zeros((last - first + 1, 2), dtype=np.int64)
        ends[1:] = self._index[first:last, :2]
        if first:
            ends[0] = self._index[first - 1, :2]
        source, target = np.diff(ends, axis=0).T.astype(np.int32)
        return source, target

    def longest(self) -> tuple[int, int]:
        """The pair whose longer side is the longest, and its length; (0, 0) where there is no pair."""
        worst = (0, 0)
        for first in range(0, len(self), BLOCK):
            longer = np.maximum(*self.lengths(first, min(first + BLOCK, len(self))))
            if longer.max() > worst[1]:
                worst = first + int(longer.argmax()), int(longer.max())
        return worst

    @classmethod
    def open(cls, folder: str | Path, split: str) -> "Pairs":
        """Maps the files of a split. UserError naming the file that is missing or does not have its full size."""
        folder = Path(folder)
        about = folder / f"{split}.pairs.json"
        try:
            held = json.loads(about.read_text(encoding="utf-8"))
            pairs, token_type = int(held["pairs"]), TOKEN_TYPES[held["type"]]
            source_tokens, target_tokens = int(held["source_tokens"]), int(held["target_tokens"])
        except FileNotFoundError:
            raise UserError(f"{about}: no such file: run mtkit prepare first") from None
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{about}: damaged: run mtkit prepare again") from None
        return cls(
            _mapped(folder / f"{split}.source.bin", token_type, source_tokens),
            _mapped(folder / f"{split}.target.bin", token_type, target_tokens),
            _mapped(folder / f"{split}.index.bin", INDEX_TYPE, 3 * pairs).reshape(pairs, 3),
        )

    def __len__(self) -> int:
        return len(self._index)

    def source(self, i: int) -> npt.NDArray[np.int64]:
        """Source tokens of pair `i`."""
        return self.gather(np.array([i]))[0][0]

    def target(self, i: int) -> npt.NDArray[np.int64]:
        """Target tokens of pair `i`."""
        return self.gather(np.array([i]))[1][0]

    def line(self, i: int) -> int:
        """Line (from 1) of pair `i` in the corpus it came from."""
        return int(self._index[i, 2])

    def target_tokens(self, indices: npt.NDArray[np.integer]) -> int:
        """Of the pairs at `indices` together."""
        begins = np.where(indices > 0, self._index[np.maximum(indices, 1) - 1, 1], 0)
        return int((self._index[indices, 1] - begins).sum())

    def gather(self, indices: npt.NDArray[np.integer]) -> tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.int64]]]:
        """Source and target tokens of the pairs at `indices`, in that order."""
        begins = np.where((indices > 0)[:, None], self._index[np.maximum(indices, 1) - 1, :2], 0).T.tolist()
        ends = self._index[indices, :2].T.tolist()
        source, target = (
            [tokens[begin:end].astype(np.int64) for begin, end in zip(of_begins, of_ends, strict=True)]
            for tokens, of_begins, of_ends in zip((self._source, self._target), begins, ends, strict=True)
        )
        return source, target


def _mapped(path: Path, kind: np.dtype[np.integer], length: int) -> npt.NDArray[np.integer]:
    """The file's numbers without reading them. UserError if it is missing or does not hold `length` of them."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: run mtkit prepare again") from None
    if size != length * kind.itemsize:
        raise UserError(f"{path}: damaged ({size} bytes, not {length * kind.itemsize}): run mtkit prepare again")
    if not length:
        return np.empty(0, kind)  # an empty file cannot be mapped
    return np.memmap(path, kind, mode="r", shape=(length,))
