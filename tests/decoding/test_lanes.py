"""Batches searched side by side: answers in order, faults told, torch's threads as before."""

import threading

import pytest
import torch

from mtkit.decoding.lanes import AMPLE, MOST, WORTHWHILE, Lanes


@pytest.fixture(autouse=True)
def two_threads(_one_thread: None) -> None:
    """In place of the one that other tests of decoding have."""
    torch.set_num_threads(2)


def test_a_batch_that_has_none_beside_it_is_dealt_out_like_ones_to_each_lane() -> None:
    lanes, items = Lanes(), list(range(WORTHWHILE))
    dealt_out = [items[::2], items[1::2]]
    assert lanes.share([items], rows=2) == dealt_out
    assert lanes.share([items, items], rows=2) == [items, items], "one for each lane"
    assert lanes.share([items, items, items], rows=2) == [items, items, *dealt_out]
    assert lanes.share([items], rows=1) == [items], "too few rows for two"
    assert lanes.share([[7]], rows=1) == [[7]]
    assert lanes.share([], rows=1) == []


def test_a_batch_larger_than_helps_is_dealt_out_too() -> None:
    items = list(range(2 * AMPLE // 4))
    assert Lanes().share([items, items], rows=4) == 2 * [items[::2], items[1::2]]
    assert Lanes().share([items, items], rows=3) == [items, items]
    assert Lanes(alone=True).share([items], rows=9) == [items]


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
