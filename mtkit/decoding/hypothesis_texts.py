"""The texts of hypotheses while these grow, for those who look at them at every step.

Comes in: token ids, all hypotheses of a step together. Goes out: what the vocabulary would decode. Knows no search.
"""

from collections.abc import Sequence

from mtkit.data.normalisation import WORD_MARK
from mtkit.data.vocabulary import UNK, Vocabulary

Tokens = tuple[int, ...]

FIRST_MARK = "\u0300"
"""No character before this one changes another one by standing beside it, in any normalisation of Unicode."""


class Texts:
    """The texts of hypotheses: all that look at them share one, so that each is decoded once a step.

    Where a token only adds letters to a text that is known, or a word, nothing is decoded again.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._known: dict[Tokens, str] = {}  # of the latest step, whose hypotheses are all of one length
        self._before: dict[Tokens, str] = {}  # of the step before
        self._added: dict[int, str | None] = {}  # what tokens add, made when needed

    def __call__(self, keys: Sequence[Tokens]) -> list[str]:
        """The text of each hypothesis; all have the same number of tokens."""
        if keys and len(keys[0]) != len(next(iter(self._known), ())):
            self._before, self._known = self._known, {}
        missing = []
        for key in keys:
            if key not in self._known:
                text = self._continued(key, self._before)
                if text is None:
                    missing.append(key)
                else:
                    self._known[key] = text
        if missing:
            self._known.update(zip(missing, self.vocabulary.decode(missing), strict=True))
        return [self._known[key] for key in keys]

    def after(self, key: Tokens, tokens: Sequence[int]) -> list[str]:
        """The text that each of `tokens` would make of `key`, a hypothesis of the latest step."""
        texts = [self._continued((*key, token), self._known) for token in tokens]
        missing = [(*key, token) for token, text in zip(tokens, texts, strict=True) if text is None]
        decoded = iter(self.vocabulary.decode(missing) if missing else ())
        return [next(decoded) if text is None else text for text in texts]

    def _continued(self, key: Tokens, known: dict[Tokens, str]) -> str | None:
        """The text of `key` from that of its parent; None where only decoding tells."""
        before = known.get(key[:-1])
        if not before or self._adds(key[-2]) is None:  # what comes after spaces, bytes and marks may change them
            return None
        added = self._adds(key[-1])
        return None if added is None else before + added

    def _adds(self, token: int) -> str | None:
        """What the token adds to any text that ends in a letter or sign; None if that depends."""
        if token not in self._added:
            piece = self.vocabulary.pieces[token]
            letters = piece.removeprefix(WORD_MARK)
            plain = (
                token > UNK + len(self.vocabulary.tags)
                and not self.vocabulary.is_byte(token)
                and letters.isprintable()
                and not any(letter in letters for letter in (WORD_MARK, " "))
                and max(letters, default=FIRST_MARK) < FIRST_MARK
                and self.vocabulary.normalise(letters) == letters
            )
            self._added[token] = (" " if letters != piece else "") + letters if plain else None
        return self._added[token]
