"""Which target pieces each source piece translates to: a made-up dictionary is found again in text that was made from it."""

from collections.abc import Sequence

import numpy as np
import pytest

from mtkit.data import lexicon
from mtkit.data.binarized import Pairs
from mtkit.data.lexicon import KEPT, learn_lexicon

WORDS, FIRST = 60, 4
"""Words of a made-up language, whose tokens begin behind the control pieces."""


def paired(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Pairs:
    ends = np.cumsum([[len(source), len(target)] for source, target in pairs], axis=0)
    index = np.column_stack([ends, np.arange(1, len(pairs) + 1)])
    source, target = (np.concatenate([np.array(pair[side], dtype=np.uint16) for pair in pairs]) for side in (0, 1))
    return Pairs(source, target, index)


def made_up(count: int, seed: int = 1) -> tuple[Pairs, np.ndarray]:
    """Pairs whose targets are their sources word by word, in another order, with an article now and then."""
    random = np.random.default_rng(seed)
    dictionary = random.permutation(WORDS) + FIRST + 1
    pairs = []
    for _ in range(count):
        words = (random.zipf(1.3, size=random.integers(1, 9)) - 1) % WORDS
        target = [*random.permutation(dictionary[words]).tolist(), *([FIRST] if random.random() < 0.7 else [])]
        pairs.append(((words + FIRST).tolist(), target))
    return paired(pairs), dictionary


def test_the_dictionary_of_a_made_up_corpus_is_found() -> None:
    pairs, dictionary = made_up(2000)
    found = learn_lexicon(pairs, WORDS + FIRST, WORDS + FIRST + 1)
    assert found.translations.shape == (WORDS + FIRST, KEPT)
    assert found.translations[FIRST:, 0].tolist() == dictionary.tolist()
    assert not found.translations[:FIRST].any(), "pieces that do not occur translate to nothing"
    counts = np.bincount(np.concatenate(pairs.gather(np.arange(len(pairs)))[1]), minlength=WORDS + FIRST + 1)
    assert (np.diff(counts[found.frequent]) <= 0).all()
    assert sorted(found.frequent) == np.flatnonzero(counts).tolist()


def test_it_is_the_model_of_the_paper() -> None:
    """Against the plain loops of Brown et al. 1993 with a fixed empty word, on text so small that nothing is left out."""
    pairs, _ = made_up(40, seed=3)
    source, target = pairs.gather(np.arange(len(pairs)))
    size = WORDS + FIRST + 1
    shares = np.bincount(np.concatenate(target), minlength=size) / sum(map(len, target))
    table = np.ones((size, size))
    for number in range(lexicon.ROUNDS + 1):
        counts = np.zeros_like(table)
        for sources, targets in zip(source, target, strict=True):
            for token in targets:
                total = sum(table[other, token] for other in sources) + (shares[token] if number else 0.0)
                for other in sources:
                    counts[other, token] += table[other, token] / total
        table = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    found = learn_lexicon(pairs, size, size)
    for piece in range(size):
        own = found.translations[piece][found.translations[piece] > 0]
        assert sorted(own) == np.flatnonzero(table[piece]).tolist()
        assert (np.diff(table[piece][own]) <= 1e-12).all(), "best first"


def test_what_is_held_at_a_time_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, _ = made_up(500)
    whole = learn_lexicon(pairs, WORDS + FIRST, WORDS + FIRST + 1)
    monkeypatch.setattr(lexicon, "LINKS_AT_ONCE", 300)
    monkeypatch.setattr(lexicon, "CELLS_AT_ONCE", 3 * WORDS)
    parts = learn_lexicon(pairs, WORDS + FIRST, WORDS + FIRST + 1)
    assert np.array_equal(whole.translations, parts.translations)
    assert np.array_equal(whole.frequent, parts.frequent)


def test_of_many_pairs_evenly_spaced_ones_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = paired([([4], [5])] * 50 + [([6], [7])] * 50)
    monkeypatch.setattr(lexicon, "LINKS", 10)
    found = learn_lexicon(pairs, 8, 8)
    assert (found.translations[[4, 6], 0]).tolist() == [5, 7]
    monkeypatch.setattr(lexicon, "LINKS", 1)
    assert learn_lexicon(pairs, 8, 8).frequent.tolist() == [5]


def test_only_the_best_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "KEPT", 1)
    pairs, dictionary = made_up(2000)
    found = learn_lexicon(pairs, WORDS + FIRST, WORDS + FIRST + 1)
    assert (found.translations[FIRST:, 0] == dictionary).mean() > 0.9
