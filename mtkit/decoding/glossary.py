"""A glossary: terms of the source with their translations, used where a term occurs.

Comes in: a file of `term TAB translation [TAB other translation ...]`, a line's text. Goes out: what the translation of the
line must hold. Knows no tokens and no model.

A term is found where it stands as whole words: one in small letters in any case, any other as it is written. Where terms
overlap the longest counts. What two places ask for, by one term or by two of the same translation, is demanded twice.
"""

import re
from pathlib import Path

from mtkit.decoding.phrases import SPACELESS, Demand, Normalise, counted, whole_words
from mtkit.support.errors import UserError
from mtkit.support.lines import read_lines


class Glossary:
    """Terms and their translations."""

    def __init__(self, terms: dict[str, tuple[str, ...]]) -> None:
        """terms: normalised, at least one, each with at least one translation."""
        self._terms = terms
        self._by_first_word: dict[str, list[str]] = {}
        """A search for all terms at once would be slow: only those are looked for whose first word is in the text."""
        for term in sorted(terms, key=len, reverse=True):
            self._by_first_word.setdefault(_first_word(term), []).append(term)

    @classmethod
    def load(cls, path: str | Path, normalise: Normalise) -> "Glossary":
        """Reads a file. Blank lines and lines that begin with # are passed over. UserError names file and line."""
        terms: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip() or line.startswith("#"):
                continue
            term, *translations = [normalise(cell) for cell in line.split("\t")]
            if not term or not translations or not all(translations):
                raise UserError(
                    f"{path}:{number}: {line!r} is not a term, a tab and its translation: write it so, other translations "
                    "after more tabs"
                )
            if terms.get(term, tuple(translations)) != tuple(translations):
                raise UserError(f"{path}:{number}: {term!r} is there twice with other translations: put all in one line")
            terms[term] = tuple(translations)
        if not terms:
            raise UserError(f"{path}: no terms in this glossary: leave it out or fill it")
        return cls(terms)

    def demands(self, text: str) -> tuple[Demand, ...]:
        """What the translation of `text`, which is normalised, must hold."""
        words = {"", *(word.casefold() for word in WORD.findall(text))}
        terms = [term for word in words for term in self._by_first_word.get(word, ())]
        if not terms:
            return ()
        terms.sort(key=lambda term: (-len(term), term))
        found = re.compile("|".join(f"({whole_words(term, any_case=term.islower())})" for term in terms))
        return counted(self._terms[terms[(match.lastindex or 0) - 1]] for match in found.finditer(text))


WORD = re.compile(r"\w+")


def _first_word(term: str) -> str:
    """Empty where the term does not begin with a word that a space would set off."""
    begin = WORD.match(term)
    return begin[0].casefold() if begin and not SPACELESS.search(term) else ""
