"""Words that a translation must or must not hold: what counts as one, and which tokens spell it.

Comes in: phrases as a user writes them, the target's vocabulary. Goes out: `Demand`s, patterns and token sequences that the
rules in `constraints` work with. Knows no search and no model.

A phrase is there where it stands as whole words: where it begins or ends with a letter, a digit or `_`, no other one is next
to it. In scripts that put no spaces between words it is there wherever it stands, and so are punctuation and signs.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtkit.data.normalisation import WORD_MARK
from mtkit.data.vocabulary import EOS, UNK, Vocabulary
from mtkit.support.errors import UserError

Normalise = Callable[[str], str]
"""What a vocabulary makes of text before it numbers it."""

SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese letters."""


@dataclass(frozen=True)
class Demand:
    """One thing that a translation must hold: any one of `alternatives`, `count` times in all."""

    alternatives: tuple[str, ...]
    count: int = 1


def counted(alternatives: Iterable[tuple[str, ...]]) -> tuple[Demand, ...]:
    """A demand for each; the same ones together as often as they come."""
    return tuple(Demand(each, count) for each, count in Counter(alternatives).items())


@dataclass(frozen=True)
class Wishes:
    """What one line asks of its translation."""

    prefix: str = ""  # the translation begins with it
    required: tuple[Demand, ...] = ()
    forbidden: tuple[str, ...] = ()  # phrases

    def check(self, where: str, normalise: Normalise) -> None:
        """UserError that begins with `where` for a phrase without text, or one that is both required and forbidden."""
        phrases = [phrase for demand in self.required for phrase in demand.alternatives]
        if any(not demand.alternatives for demand in self.required):
            raise UserError(f"{where}: a required phrase has no alternatives: give at least one")
        if any(not normalise(phrase) for phrase in (*phrases, *self.forbidden)):
            raise UserError(f"{where}: a required or forbidden phrase is blank: give it text or leave it out")
        for alternatives in [demand.alternatives for demand in self.required] + [(self.prefix,)]:
            if banned := self.banned_in(alternatives, normalise):
                raise UserError(
                    f"{where}: {alternatives[0]!r} must be in the translation and {banned!r} must not: take one back"
                )

    def banned_in(self, alternatives: Sequence[str], normalise: Normalise) -> str:
        """What is forbidden in the first of the alternatives, if there is something in each; else ''."""
        if not self.forbidden:
            return ""
        banned = pattern(self.forbidden, normalise)
        found = [match[0] for phrase in alternatives if (match := banned.search(normalise(phrase)))]
        return found[0] if len(found) == len(alternatives) else ""


NO_WISHES = Wishes()


def pattern(phrases: Sequence[str], normalise: Normalise) -> re.Pattern[str]:
    """Finds any of `phrases` as whole words in normalised text, the longest where several begin."""
    return re.compile("|".join(whole_words(normalise(phrase)) for phrase in sorted(phrases, key=len, reverse=True)))


def whole_words(phrase: str, *, any_case: bool = False) -> str:
    """A regular expression, without groups, for a normalised phrase."""
    before = r"(?<!\w)" if _in_word(phrase[0]) else ""
    after = "" if open_ended(phrase) else r"(?!\w)"
    return f"{before}{'(?i:' if any_case else '(?:'}{re.escape(phrase)}){after}"


def open_ended(phrase: str) -> bool:
    """Whether it is there whatever follows."""
    return not _in_word(phrase[-1])


def _in_word(character: str) -> bool:
    """Whether it may be part of a word that spaces or punctuation set off. Marks are: they belong to the letter before."""
    return (character == "_" or unicodedata.category(character)[0] in "LNMC") and not SPACELESS.match(character)


@dataclass(frozen=True)
class Spelling:
    """One way to write a phrase in tokens."""

    tokens: tuple[int, ...]
    open_ended: bool
    fallback: tuple[int, ...] = field(init=False, repr=False)
    """For each number of tokens matched: how many still are after a token that does not fit (Knuth, Morris, Pratt)."""

    def __post_init__(self) -> None:
        fallback = [0, 0]
        for token in self.tokens[1:]:
            length = fallback[-1]
            while length and self.tokens[length] != token:
                length = fallback[length]
            fallback.append(length + (self.tokens[length] == token))
        object.__setattr__(self, "fallback", tuple(fallback))

    def advance(self, matched: int, token: int) -> int:
        """How many of its first tokens a hypothesis ends with after `token`, where it ended with `matched`."""
        if matched == len(self.tokens):
            matched = self.fallback[matched]
        while matched and self.tokens[matched] != token:
            matched = self.fallback[matched]
        return matched + (self.tokens[matched] == token)


def spelling(phrase: str, vocabulary: Vocabulary) -> Spelling:
    """The tokens of the phrase as the vocabulary writes it at the start of a word."""
    (tokens,), normalised = vocabulary.encode([phrase]), vocabulary.normalise(phrase)
    if SPACELESS.match(normalised[0]) and vocabulary.pieces[tokens[0]] == WORD_MARK and len(tokens) > 1:
        tokens = tokens[1:]  # no space before it, where there never is one
    return Spelling(tuple(tokens), open_ended(normalised))


class Breaks:
    """For every token of a vocabulary: what it does to a word that ends just before it. [V] each."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        first = vocabulary.first_byte
        bytes_ = range(first, first + 256) if first is not None else range(0)
        kinds = ["byte" if token in bytes_ else _kind(token, piece) for token, piece in enumerate(vocabulary.pieces)]
        self.ends_word: Tensor = torch.tensor([kind == "ends" for kind in kinds])
        """After this token the word is a whole one."""
        self.goes_on: Tensor = torch.tensor([kind == "goes on" for kind in kinds])
        """After this token it is certainly part of a longer one."""
        mixed = (re.search(r"\w\W|\W\w", piece.lstrip(WORD_MARK)) for piece in vocabulary.pieces)
        self.unclear: Tensor = torch.tensor(
            [
                kind in ("byte", "joins") or (token > UNK and found is not None)
                for token, (kind, found) in enumerate(zip(kinds, mixed, strict=True))
            ]
        )
        """Tokens with which, or within which, a word may end and nobody can tell by their last letters."""


def _kind(token: int, piece: str) -> str:
    if token == EOS:
        return "ends"
    if token <= UNK:
        return "control"
    first = piece[0]
    if first == WORD_MARK:
        return "ends"
    if re.match(r"\w", first):
        return "goes on"
    return "joins" if unicodedata.category(first)[0] in "MC" else "ends"  # marks may change the letter before
