"""A finished sentence pair and the small steps that finish one: capital, full stop, combinations."""

from dataclasses import dataclass

from clauses import Clause, combinations, english_statement, german_statement
from entries import Adverbial


@dataclass(frozen=True)
class SentencePair:
    """`pairs` are the content-word combinations in it; the splits hold some of them out."""

    english: str
    german: str
    pairs: frozenset[str]


def finished(english: str, german: str, pairs: frozenset[str], mark: str = ".") -> SentencePair:
    return SentencePair(_capital(english) + mark, _capital(german) + mark, pairs)


def statement(clause: Clause, *, fronted: Adverbial | None = None) -> SentencePair:
    """The clause as a main clause, with one adverbial in front where one is given."""
    return finished(
        english_statement(clause, fronted=fronted),
        german_statement(clause, fronted=fronted),
        combinations(clause),
    )


def joined(first: Clause, second: Clause) -> frozenset[str]:
    """The combinations of both clauses."""
    return combinations(first) | combinations(second)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
