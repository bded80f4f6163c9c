"""Batches searched side by side: answers in order, faults told, torch's threads as before."""

import threading

import pytest
import torch

from mtkit.decoding.lanes import MOST, WORTHWHILE, Lanes


@pytest.fixture(autouse=True)
def two_threads(_one_thread: None) -> None:
    """In place of the one that other tests of decoding have."""
    torch.set_num_threads(2)


def test_each_item_goes_to_one_lane_and_like_ones_to_each() -> None:
    lanes = Lanes()
    assert lanes.split(list(range(WORTHWHILE)), rows=2) == [list(range(0, WORTHWHILE, 2)), list(range(1, WORTHWHILE, 2))]
    assert lanes.split(list(range(WORTHWHILE)), rows=1) == [list(range(WORTHWHILE))], "too few rows for two"
    assert lanes.split([7], rows=1) == [[7]]
    assert Lanes(alone=True).split(list(range(500)), rows=4) == [list(range(500))]


def test_two_lanes_work_at_the_same_time_with_a_thread_each() -> None:
    both = threading.Barrier(2, timeout=20)

    def search(item: int) -> tuple[int, int]:
        both.wait()
        return -item, torch.get_num_threads()

    assert Lanes().search(search, [1, 2, 3, 4]) == [(-1, 1), (-2, 1), (-3, 1), (-4, 1)]
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    late = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    late.start()
    late.join()
    assert seen == [2], "threads to come have as many as before"


def test_one_batch_is_searched_where_it_is_asked_for() -> None:
    assert Lanes().search(lambda _: (threading.current_thread(), torch.get_num_threads()), [0]) == [
        (threading.main_thread(), 2)
    ]


def test_a_fault_in_a_lane_ends_the_work() -> None:
    done: list[int] = []

    def search(item: int) -> int:
        if item == 1:
            raise ValueError("batch 1")
        done.append(item)
        return item

    with pytest.raises(ValueError, match="batch 1"):
        Lanes().search(search, range(1000))
    assert len(done) < 1000
    assert torch.get_num_threads() == 2


def test_lanes_share_the_threads() -> None:
    torch.set_num_threads(2 * MOST)
    assert Lanes().count == MOST
    assert set(Lanes().search(lambda _: torch.get_num_threads(), range(9))) == {2}
