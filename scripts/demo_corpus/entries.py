"""The shapes of the lexicon's entries: frozen records that pair an English word with its German rendering.

What goes in: what the tables in `nouns`, `verbs`, `modifiers` and `places` say about a word. What goes out: `Noun`, `Verb`,
`Modal`, `Adjective`, `Adverbial`, `Place`, `Name`. Nothing here inflects: `german` and `english` do. Each entry names the
semantic kinds it belongs to or selects, so that people drink coffee and never a chair.
"""

from dataclasses import dataclass
from typing import Literal

Case = Literal["nominative", "accusative", "dative", "genitive"]
Gender = Literal["m", "f", "n"]
Person = Literal["ich", "du", "er", "wir"]  # the four distinct German finite forms; "sie" (they) takes the form of "wir"


@dataclass(frozen=True)
class Noun:
    """`plural` is the German nominative plural, empty for mass nouns; `weak` nouns take it in all oblique cases too."""

    english: str
    german: str
    gender: Gender
    plural: str
    kinds: frozenset[str]
    english_plural: str
    weak: bool = False
    plural_only: bool = False

    @property
    def mass(self) -> bool:
        return not self.plural


@dataclass(frozen=True)
class Verb:
    """`english` keeps its particle after `~` when a pronoun object moves before it (`turn~on`); `german` its prefix
    before `|` (`ein|schalten`). `third`, `participle` and `preterite` are empty where the rule of `german` gives them;
    `objects`, `recipients`, `complements` and `places` are the kinds of noun or place that the verb selects."""

    english: str
    german: str
    english_past: str
    english_ing: str
    third: str
    participle: str
    auxiliary: Literal["haben", "sein"]
    reflexive: Literal["", "accusative", "dative"]
    objects: frozenset[str]
    object_case: Case
    recipients: frozenset[str]
    preposition: str
    complement_case: Case
    complements: frozenset[str]
    places: frozenset[str]
    determiners: Literal["any", "definite", "own", "indefinite"]
    stative: bool  # no progressive in English
    english_to: bool  # English puts the recipient last, with "to": explain the rule to him
    timeless: bool  # kept out of the past, where German would rather use the Präteritum

    @property
    def prefix(self) -> str:
        return self.german.partition("|")[0] if "|" in self.german else ""

    @property
    def base(self) -> str:
        """The German infinitive without its separable prefix."""
        return self.german.rpartition("|")[2]

    @property
    def infinitive(self) -> str:
        return self.german.replace("|", "")


@dataclass(frozen=True)
class Modal:
    """German `present` and `past` for ich, du, er, wir; `adverb` (gern, lieber) stands for the German modal where set."""

    english: str
    english_past: str
    auxiliary: bool  # English: inverts and takes "not" without "do"
    present: tuple[str, str, str, str]
    past: tuple[str, str, str, str] | None
    adverb: str = ""


@dataclass(frozen=True)
class Adjective:
    """`stem` takes the endings (`teur-` of teuer)."""

    english: str
    german: str
    kinds: frozenset[str]
    stem: str
    english_comparative: str
    comparative: str


@dataclass(frozen=True)
class Adverbial:
    """A phrase that says when, how or where, ready in both languages; `head` is its word in combinations with a verb and
    `pairs` are the combinations within it (old + station)."""

    english: str
    german: str
    head: str
    direction: bool = False
    pairs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Place:
    """Where one is (`at`, `german_at` + dative) and where one goes (`to`, `german_to` + accusative, or dative after zu).
    `fixed` holds the four finished phrases (to, zu, at, in) of places without an article to decline."""

    name: str
    noun: Noun | None
    kinds: frozenset[str]
    to: str = ""
    german_to: str = ""
    at: str = ""
    german_at: str = ""
    fixed: tuple[str, str, str, str] | None = None


@dataclass(frozen=True)
class Name:
    name: str
    gender: Literal["m", "f"]


def words(text: str) -> frozenset[str]:
    """The set of the blank-separated words of a text: how the tables list kinds."""
    return frozenset(text.split())


def matches(kinds: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether an entry of these kinds is among the wanted ones (each noun's own English name is one of its kinds)."""
    return not kinds.isdisjoint(wanted)
