"""BPE-dropout (Provilkov et al. 2020): each time a sentence is learned from, it is cut into other pieces.

Comes in: numbered sentences of a micro-batch and a seed. Goes out: the same sentences in other pieces, a function of both:
the position law holds. A sentence grows; how much is planned for, so that no micro-batch exceeds its budget.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mtkit.data.vocabulary import Vocabulary
from mtkit.training.seeds import mixed

Tokens = NDArray[np.int64]

GROWTH = 6.0
"""A sentence may grow to 1 + GROWTH * dropout of its length; by 4 it does on average."""

DRAWS = 4
"""So often a sentence that grew too long is cut anew, before it is left as it was."""


def planned(lengths: NDArray[np.integer], dropout: float, budget: int) -> NDArray[np.int64]:
    """The lengths that sentences of these lengths are planned with; none above `budget`, which they all keep."""
    grown: NDArray[np.int64] = np.ceil(lengths * (1.0 + GROWTH * dropout)).astype(np.int64)
    return grown.clip(max=budget)


class Sampler:
    """Cuts the sentences of one side anew."""

    def __init__(self, vocabulary: Vocabulary, dropout: float) -> None:
        self._vocabulary = vocabulary
        self._dropout = dropout
        self._tags = {vocabulary.tag_id(tag) for tag in vocabulary.tags}

    def sample(self, sentences: Sequence[Tokens], longest: int, *seed: int) -> list[Tokens]:
        """Each sentence in other pieces, at most `longest` of them; tags stay in front. A function of its arguments."""
        tagged = [bool(len(tokens)) and int(tokens[0]) in self._tags for tokens in sentences]
        texts = self._vocabulary.decode([tokens.tolist() for tokens in sentences])
        found = list(sentences)
        left = list(range(len(sentences)))
        for draw in range(DRAWS):
            drawn = self._vocabulary.encode_sampled([texts[i] for i in left], self._dropout, mixed(*seed, draw))
            still = []
            for i, pieces in zip(left, drawn, strict=True):
                if len(pieces) + tagged[i] <= longest:
                    found[i] = np.concatenate([sentences[i][: int(tagged[i])], pieces]).astype(np.int64)
                else:
                    still.append(i)
            left = still
            if not left:
                break
        return found
