"""T3: where a line that is too long is cut."""

from collections.abc import Callable

import numpy as np
import pytest

from mtkit.data.normalisation import nfc as normalise
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding.splitting import split_tokens


def split(vocabulary: Vocabulary, text: str, longest: int) -> list[str]:
    (tokens,) = vocabulary.encode([text])
    runs = split_tokens(tokens, vocabulary.pieces, longest)
    assert [token for run in runs for token in run] == tokens
    assert all(0 < len(run) <= longest for run in runs)
    return vocabulary.decode(runs)


def length(vocabulary: Vocabulary, text: str) -> int:
    return len(vocabulary.encode([text])[0])


def test_a_line_that_fits_is_left_alone(vocabulary: Vocabulary) -> None:
    text = "the cat. the dog. the tree."
    assert split(vocabulary, text, length(vocabulary, text)) == [text]


def test_sentence_ends_come_before_spaces(vocabulary: Vocabulary) -> None:
    text = "the cat sees. a dog (old!) the red house and the tree"
    longest = length(vocabulary, "the cat sees. a dog (old!) the red house")
    assert split(vocabulary, text, longest) == ["the cat sees. a dog (old!)", "the red house and the tree"]


def test_spaces_come_before_the_inside_of_words(vocabulary: Vocabulary) -> None:
    text = "the cat sees a dog and 1.5 xyzzyxyzzy"
    longest = length(vocabulary, "the cat sees a dog and 1.5 xyzzy")
    assert split(vocabulary, text, longest) == ["the cat sees a dog and 1.5", "xyzzyxyzzy"]


def test_words_longer_than_all_are_cut_between_characters(vocabulary: Vocabulary) -> None:
    text = "日本" * 20 + "🙂" * 20
    for longest in (4, 5, 6, 7, 50):
        assert "".join(split(vocabulary, text, longest)) == text


def test_scripts_without_spaces_end_sentences_too(vocabulary: Vocabulary) -> None:
    pieces = ["▁", "好", "。", "吗", "？」"]
    assert split_tokens([0, 1, 2, 1, 3, 4, 1, 1, 1], pieces, 7) == [[0, 1, 2, 1, 3, 4], [1, 1, 1]]


@pytest.mark.parametrize("longest", [8, 20, 64])
def test_nothing_is_lost_and_few_pieces_are_made(
    longest: int, vocabulary: Vocabulary, lines: Callable[..., list[str]]
) -> None:
    random = np.random.default_rng(longest)
    for line in lines(20, longest=200):
        text = "".join(character + str(random.choice(["", "", "", ". ", "!"])) for character in line)
        parts = split(vocabulary, text, longest)
        assert " ".join(parts).replace(" ", "") == normalise(text).replace(" ", "")
