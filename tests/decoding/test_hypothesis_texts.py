"""Texts of hypotheses that are put together from those of the step before: the same as decoded."""

import numpy as np
import pytest

from mtkit.config.schema import Vocabulary as VocabularyConfig
from mtkit.data.vocabulary import Vocabulary, learn_vocabulary
from mtkit.decoding.hypothesis_texts import Texts

WORDS = ["cafe\u0301", "über", "x²", "ﬁne", "naïve", "한국", "ก็", "a-b", "½", "e", "the", "’s", "\u0301", "Ж", "日本", "!?"]


@pytest.fixture(scope="module", params=["nfc", "nfkc"])
def odd(request: pytest.FixtureRequest) -> Vocabulary:
    """Pieces with marks, ligatures and jamo among them, with bytes."""
    config = VocabularyConfig(size=400, soft_limit=True, normalization=request.param)
    return learn_vocabulary(dict.fromkeys(WORDS, 5), config)


def test_grown_texts_are_the_decoded_ones(odd: Vocabulary) -> None:
    random = np.random.default_rng(1)
    often = [token for token in range(len(odd)) if not odd.is_byte(token)]
    saved = 0
    for _ in range(40):
        texts = Texts(odd)
        live: list[tuple[int, ...]] = [()]
        for _ in range(12):
            tokens = random.choice(often if random.random() < 0.8 else len(odd), size=6).tolist()
            live = [(*live[random.integers(len(live))], token) for token in tokens]
            assert texts(live) == odd.decode(live)
            saved += sum(texts._continued(key, texts._before) is not None for key in live)
            more = random.choice(len(odd), size=5).tolist()
            assert texts.after(live[0], more) == odd.decode([(*live[0], token) for token in more])
    assert saved > 100, "some were not decoded"
