"""Which word of the source each word of a translation came from, by the attention that its tokens paid.

Comes in: attention of target tokens to source tokens, the pieces of both. Goes out: pairs of word numbers. Knows no model.
Words are what spaces set off, counted from 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mtkit.data.normalisation import WORD_MARK

Pairs = tuple[tuple[int, int], ...]
"""(source word, target word), by target word."""


def words_of(pieces: Sequence[str]) -> list[int]:
    """For each piece of a text the number of its word; -1 for spaces alone."""
    found = []
    word, begins = -1, True
    for piece in pieces:
        letters = piece.lstrip(WORD_MARK)
        begins |= letters != piece
        if letters and begins:
            word, begins = word + 1, False
        found.append(word if letters else -1)
    return found


def align(attention: NDArray[np.float32], source: Sequence[str], target: Sequence[str]) -> Pairs:
    """Each target word with the source word that its tokens attended to most.

    attention [target tokens + 1, source tokens + 1], the last ones for the end tokens: a word that paid more than half of
    its attention to the source's is left out, since nothing in the source says it.
    """
    source_words, target_words = np.array(words_of(source), dtype=np.int64), np.array(words_of(target), dtype=np.int64)
    known = np.arange(source_words.max(initial=-1) + 1)
    pairs = []
    for word in range(target_words.max(initial=-1) + 1):
        paid = attention[: len(target)][target_words == word].sum(axis=0)
        totals = [float(paid[:-1][source_words == each].sum()) for each in known]
        if totals and 2 * paid[-1] <= paid.sum():
            pairs.append((int(np.argmax(totals)), word))
    return tuple(pairs)
