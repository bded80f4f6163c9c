"""What was there before, found in any pieces, and what is held out."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mtkit.data.duplicates import HeldOut, PairHashes, Seen, given_away


@given(st.lists(st.integers(0, 30)), st.integers(1, 9))
def test_seen_is_what_a_set_would_say(numbers: list[int], pieces: int) -> None:
    seen, before = Seen(), set[int]()
    for start in range(0, len(numbers), pieces):
        chunk = numbers[start : start + pieces]
        again = seen.again(np.array(chunk, dtype=np.uint64))
        expected = []
        for number in chunk:
            expected.append(number in before)
            before.add(number)
        assert again.tolist() == expected
        seen.add(np.array(chunk, dtype=np.uint64)[~again])


def hashes(*pairs: tuple[str, str]) -> PairHashes:
    source, target = zip(*pairs, strict=True) if pairs else ((), ())
    return PairHashes.of(source, target)


def test_held_out_lines_are_met_as_pairs_and_by_their_sides() -> None:
    held_out, met = HeldOut(), dict[str, Any]()
    test = PairHashes.joined([hashes(("a", "A"), ("b", "B")), hashes(("b", "B"), ("c", "C"))])
    held_out.add(test)
    held_out.add(hashes(("v", "V")))
    masks = held_out.meet(hashes(("b", "B"), ("a", "X"), ("Y", "C"), ("n", "N"), ("A", "a")), met)
    assert {side: mask.tolist() for side, mask in masks.items()} == {
        "pairs": [True, False, False, False, False],
        "sources": [True, True, False, False, False],
        "targets": [True, False, True, False, False],
    }
    held_out.meet(hashes(("a", "A")), met)
    assert given_away(test, met) == {"pairs": 3, "sources": 3, "targets": 4}
    assert given_away(hashes(("v", "V")), met) == {"pairs": 0, "sources": 0, "targets": 0}


def test_sides_do_not_run_into_each_other() -> None:
    assert hashes(("ab", "c")).pairs[0] != hashes(("a", "bc")).pairs[0]
    assert len(hashes().pairs) == 0
