"""Words and their attention, by hand."""

import numpy as np

from mtkit.decoding.alignment import align, words_of
from mtkit.decoding.stepping import aligning_layer


def test_words_of_pieces() -> None:
    assert words_of(["▁ein", "▁Haus", "halt", ".", "▁", "▁x"]) == [0, 1, 1, 1, -1, 2]
    assert words_of(["ohne", "▁mit"]) == [0, 1]
    assert words_of(["▁", "房", "子"]) == [-1, 0, 0]
    assert words_of([]) == []


def test_a_word_comes_from_where_its_tokens_look_most() -> None:
    source, target = ["▁a", "▁old", "er", "▁cat"], ["▁eine", "▁Kat", "ze", "."]
    attention = np.array(
        [
            [0.5, 0.1, 0.1, 0.1, 0.2],
            [0.0, 0.2, 0.2, 0.3, 0.3],
            [0.0, 0.1, 0.1, 0.5, 0.3],
            [0.1, 0.1, 0.1, 0.1, 0.6],
        ],
        dtype=np.float32,
    )
    assert align(attention, source, target) == ((0, 0), (2, 1))
    assert align(attention[[0, 3]], source, ["▁eine", "▁."]) == ((0, 0),), "the end token says nothing"
    assert align(attention[:0], source, []) == ()


def test_parts_of_a_word_count_together() -> None:
    attention = np.array([[0.4, 0.3, 0.3, 0.0]], dtype=np.float32)
    assert align(attention, ["▁x", "▁y", "z"], ["▁w"]) == ((1, 0),)


def test_the_layer() -> None:
    assert [aligning_layer(layers) for layers in (1, 2, 3, 4, 6, 12)] == [0, 0, 1, 2, 4, 10]
