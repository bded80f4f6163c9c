"""The numbered pairs on disk."""

from pathlib import Path

import numpy as np
import pytest

from mtkit.data.binarized import Pairs, PairWriter
from mtkit.support.errors import UserError

SOURCE = [[5, 6, 7], [], [65535], [8]]
TARGET = [[9], [10, 11], [12], []]


def written(folder: Path, vocabulary_size: int = 65536) -> Pairs:
    writer = PairWriter(folder, "train", vocabulary_size)
    writer.append(SOURCE[:1], TARGET[:1], [2])
    writer.append([], [], [])
    writer.append(SOURCE[1:], TARGET[1:], [3, 7, 8])
    writer.finish()
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


def test_lines_follow_one_another_if_not_given(tmp_path: Path) -> None:
    writer = PairWriter(tmp_path, "train", 100)
    writer.append([[1]], [[1]])
    writer.append([[1], [2]], [[1], [2]])
    writer.finish()
    pairs = Pairs.open(tmp_path, "train")
    assert [pairs.line(i) for i in range(3)] == [1, 2, 3]


def test_no_pairs(tmp_path: Path) -> None:
    PairWriter(tmp_path, "test", 100).finish()
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
    writer = PairWriter(tmp_path, "train", 100)
    writer.append([[1]], [[1]])
    writer.close()
    with pytest.raises(UserError, match=r"train\.pairs\.json"):
        Pairs.open(tmp_path, "train")
