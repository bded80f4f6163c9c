"""The numbered pairs on disk."""

from pathlib import Path

import numpy as np
import pytest

from mtkit.data.binarized import Pairs, PairWriter, Rows, pair_files
from mtkit.data.stages import GrowingFile
from mtkit.support.errors import UserError

SOURCE = [[5, 6, 7], [], [65535], [8]]
TARGET = [[9], [10, 11], [12], []]
LINES = [2, 3, 7, 8]


def fill(folder: Path, split: str, vocabulary_size: int, *pieces: slice, finish: bool = True) -> None:
    """Writes these pieces of the pairs, each by a writer that goes on behind the one before."""
    sizes = [0, 0, 0, 0]
    for piece in pieces or (slice(0),):
        files = [GrowingFile(path, size) for path, size in zip(pair_files(folder, split), sizes, strict=True)]
        for file in files:
            file.open()
        writer = PairWriter(files, vocabulary_size)
        writer.write(Rows.of(SOURCE[piece]), Rows.of(TARGET[piece]), np.array(LINES[piece]))
        if finish and piece == (pieces or (piece,))[-1]:
            writer.finish()
        for file in files:
            file.close()
        sizes = [file.size for file in files]


def written(folder: Path, vocabulary_size: int = 65536) -> Pairs:
    fill(folder, "train", vocabulary_size, slice(1), slice(1, 1), slice(1, 4))
    return Pairs.open(folder, "train")


@pytest.mark.parametrize(("vocabulary_size", "token_bytes"), [(65536, 2), (65537, 4)])
def test_pairs_come_back(tmp_path: Path, vocabulary_size: int, token_bytes: int) -> None:
    pairs = written(tmp_path, vocabulary_size)
    assert len(pairs) == 4
    assert [pairs.source(i).tolist() for i in range(4)] == SOURCE
    assert [pairs.target(i).tolist() for i in range(4)] == TARGET
    assert [pairs.line(i) for i in range(4)] == [2, 3, 7, 8]
    assert pairs.source_lengths.tolist() == [3, 0, 1, 1]
    assert pairs.target_lengths.tolist() == [1, 2, 1, 0]
    assert pairs.source(0).dtype == np.int64
    assert pairs.source_lengths.dtype == np.int32
    assert (tmp_path / "train.source.bin").stat().st_size == 5 * token_bytes


def test_gathering_keeps_the_order_asked_for(tmp_path: Path) -> None:
    source, target = written(tmp_path).gather(np.array([3, 0, 0]))
    assert [tokens.tolist() for tokens in source] == [[8], [5, 6, 7], [5, 6, 7]]
    assert [tokens.tolist() for tokens in target] == [[], [9], [9]]


def test_no_pairs(tmp_path: Path) -> None:
    fill(tmp_path, "test", 100)
    pairs = Pairs.open(tmp_path, "test")
    assert len(pairs) == 0
    assert pairs.source_lengths.tolist() == []


@pytest.mark.parametrize("name", ["train.source.bin", "train.target.bin", "train.index.bin", "train.pairs.json"])
def test_missing_and_cut_files_are_named(tmp_path: Path, name: str) -> None:
    written(tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(UserError, match=f"{name}: damaged"):
        Pairs.open(tmp_path, "train")
    path.unlink()
    with pytest.raises(UserError, match=f"{name}: no such file"):
        Pairs.open(tmp_path, "train")


def test_unfinished_pairs_are_unreadable(tmp_path: Path) -> None:
    fill(tmp_path, "train", 100, slice(1), finish=False)
    with pytest.raises(UserError, match=r"train\.pairs\.json"):
        Pairs.open(tmp_path, "train")
