"""Misaligned stretches are found by their lines, whatever the pieces they come in (field report D8)."""

import numpy as np
import pytest

from mtkit.data.alignment import AlignmentWatch, Run


def lengths(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Characters of sentences and their translations, as they are in a parliament's minutes."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(4.8, 0.6, count), 8, 800)
    return source.astype(np.int32), (source * random.lognormal(0.1, 0.18, count)).astype(np.int32)


def runs(source: np.ndarray, target: np.ndarray, *, shortest: int = 10, pieces: int = 10_000) -> tuple[Run, ...]:
    watch = AlignmentWatch(shortest)
    for start in range(0, len(source), pieces):
        watch.add(source[start : start + pieces], target[start : start + pieces])
    return watch.runs()


def shifted(target: np.ndarray, first: int, last: int) -> np.ndarray:
    """Lines `first` to `last` (from 1) of the target moved up by one, round and round."""
    moved = target.copy()
    moved[first - 1 : last] = np.roll(target[first - 1 : last], -1)
    return moved


def test_sixty_pairs_of_which_twenty_are_shifted() -> None:
    source, target = lengths(60)
    assert runs(source, target) == ()
    (run,) = runs(source, shifted(target, 21, 40))
    assert abs(run.first - 21) <= 3
    assert abs(run.last - 40) <= 3


@pytest.mark.parametrize("pieces", [7, 999, 10_000, 50_000])
def test_runs_do_not_depend_on_the_pieces(pieces: int) -> None:
    source, target = lengths(45_000)
    for first, last in ((1, 40), (9_990, 10_020), (30_000, 30_500), (44_970, 45_000)):
        target = shifted(target, first, last)
    found = runs(source, target, pieces=pieces)
    assert found == runs(source, target)
    assert len(found) == 4
    for run, (first, last) in zip(found, ((1, 40), (9_990, 10_020), (30_000, 30_500), (44_970, 45_000)), strict=True):
        assert abs(run.first - first) <= 5
        assert abs(run.last - last) <= 5


def test_odd_pairs_here_and_there_are_no_run() -> None:
    source, target = lengths(20_000)
    target[::7] = 3
    assert runs(source, target) == ()


def test_a_run_shorter_than_asked_for_is_not_told() -> None:
    source, target = lengths(2_000)
    target[100:112] = 3
    assert [run.first for run in runs(source, target)] == [101]
    assert runs(source, target, shortest=16) == ()


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_little_or_alike_text_tells_nothing(count: int) -> None:
    alike = np.full(count, 10, dtype=np.int32)
    assert runs(alike, alike) == ()
    assert runs(np.full(300, 20, dtype=np.int32), np.zeros(300, dtype=np.int32)) == ()
