"""Bilingual noun phrases: a determiner, a number, an adjective and a noun in, one `Phrase` with all its cases out.

A phrase knows its agreement features and its combinations (adjective + noun); it does not know the clause it stands in.
"""

from dataclasses import dataclass, replace

from english import with_article
from entries import Adjective, Case, Name, Noun, Person
from german import (
    CASES,
    Declension,
    GenderKey,
    adjective_ending,
    definite_article,
    der_word,
    ein_word,
    noun_form,
)
from numbers_and_times import english_number, german_number


@dataclass(frozen=True)
class Determiner:
    """`form` says how the German word inflects; `declension` what it asks of a following adjective."""

    english: str
    stem: str
    form: str  # "definite", "der", "ein", "fixed" or "none"
    declension: Declension
    definite: bool = False
    kein: bool = False


THE = Determiner("the", "", "definite", "weak", definite=True)
THIS = Determiner("this", "dies", "der", "weak", definite=True)
THESE = Determiner("these", "dies", "der", "weak", definite=True)
WHICH = Determiner("which", "welch", "der", "weak", definite=True)
MANY = Determiner("many", "viel", "der", "strong")
A = Determiner("a", "ein", "ein", "mixed")
NO = Determiner("no", "kein", "ein", "mixed", kein=True)
NOT_A = Determiner("a", "kein", "ein", "mixed", kein=True)  # the verb carries "not" in English
NOT_ANY = Determiner("any", "kein", "ein", "mixed", kein=True)
THE_UNSAID = Determiner("", "", "definite", "weak", definite=True)  # prepare lunch: das Mittagessen vorbereiten
BARE = Determiner("", "", "none", "strong")
POSSESSIVE = {
    english: Determiner(english, stem, "ein", "mixed", definite=True)
    for english, stem in (("my", "mein"), ("your", "dein"), ("his", "sein"), ("our", "unser"))
} | {english: Determiner(english, "ihr", "ein", "mixed", definite=True) for english in ("her", "their")}


def number_determiner(value: int) -> Determiner:
    assert value > 1
    return Determiner(english_number(value), german_number(value), "fixed", "strong")


@dataclass(frozen=True)
class Phrase:
    """`agreement` (I, you, he, we, they) drives the English verb, `person` the German one; `own` is the possessive that
    refers back to this phrase, empty where none is natural; `gender` is the key of a pronoun that resumes it."""

    english: str
    english_object: str
    german: dict[Case, str]
    agreement: str
    person: Person
    gender: GenderKey
    own: str = ""
    pronoun: bool = False
    definite: bool = True
    kein: bool = False
    personal: bool = False  # a person by name, kinship or role
    head: str = ""
    pairs: frozenset[str] = frozenset()
    antecedent: str = ""  # the name or phrase that a pronoun resumes


def combination(first: str, second: str) -> str:
    """The name of a pair of content words that stand in a relation; what the splits hold out."""
    return f"{first} + {second}"


def noun_phrase(determiner: Determiner, noun: Noun, adjective: Adjective | None = None, *, plural: bool = False) -> Phrase:
    """E.g. (A, lamp, new) gives "a new lamp" with eine neue Lampe, einer neuen Lampe …"""
    plural = plural or noun.plural_only
    assert not (plural and noun.mass)
    gender: GenderKey = "p" if plural else noun.gender
    words = f"{adjective.english} " if adjective else ""
    words += noun.english_plural if plural else noun.english
    english = with_article(words) if determiner.english == "a" else f"{determiner.english} {words}".strip()
    person_like = bool(noun.kinds & {"people", "kin"})
    own = ""
    if person_like and plural:
        own = "their"
    elif person_like and noun.gender != "n":
        own = "his" if noun.gender == "m" else "her"
    return Phrase(
        english=english,
        english_object=english,
        german={case: _german_words(determiner, noun, adjective, case, gender, plural=plural) for case in CASES},
        agreement="they" if plural else "he",
        person="wir" if plural else "er",
        gender=gender,
        own=own,
        definite=determiner.definite,
        kein=determiner.kein,
        personal=person_like,
        head=noun.english,
        pairs=frozenset([combination(adjective.english, noun.english)] if adjective else []),
    )


def _german_words(
    determiner: Determiner,
    noun: Noun,
    adjective: Adjective | None,
    case: Case,
    gender: GenderKey,
    *,
    plural: bool,
) -> str:
    words = [_german_determiner(determiner, case, gender)]
    if adjective:
        words.append(adjective.stem + adjective_ending(determiner.declension, case, gender))
    words.append(noun_form(noun, case, plural=plural))
    return " ".join(word for word in words if word)


def _german_determiner(determiner: Determiner, case: Case, gender: GenderKey) -> str:
    if determiner.form == "definite":
        return definite_article(case, gender)
    if determiner.form == "der":
        return der_word(determiner.stem, case, gender)
    if determiner.form == "ein":
        return ein_word(determiner.stem, case, gender)
    return determiner.stem


def _cases(nominative: str, accusative: str, dative: str) -> dict[Case, str]:
    return {"nominative": nominative, "accusative": accusative, "dative": dative, "genitive": ""}


def _pronoun(
    english: str,
    object_form: str,
    german: tuple[str, str, str],
    agreement: str,
    person: Person,
    gender: GenderKey,
    own: str,
) -> Phrase:
    return Phrase(english, object_form, _cases(*german), agreement, person, gender, own=own, pronoun=True)


I = _pronoun("I", "me", ("ich", "mich", "mir"), "I", "ich", "m", "my")  # noqa: E741
YOU = _pronoun("you", "you", ("du", "dich", "dir"), "you", "du", "m", "your")
HE = _pronoun("he", "him", ("er", "ihn", "ihm"), "he", "er", "m", "his")
SHE = _pronoun("she", "her", ("sie", "sie", "ihr"), "he", "er", "f", "her")
WE = _pronoun("we", "us", ("wir", "uns", "uns"), "we", "wir", "p", "our")
THEY = _pronoun("they", "them", ("sie", "sie", "ihnen"), "they", "wir", "p", "their")
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
WHO = replace(HE, english="who", german=_cases("wer", "wen", "wem"), own="")


def resumed(subject: Phrase) -> Phrase:
    """The pronoun for a person named in the clause before."""
    if subject.pronoun:
        return subject
    pronoun = THEY if subject.gender == "p" else HE if subject.gender == "m" else SHE
    return replace(pronoun, head=subject.head, antecedent=subject.english)


def it_for(phrase: Phrase) -> Phrase:
    """The pronoun that resumes a thing: it (er, sie, es by its gender) or they."""
    if phrase.gender == "p":
        return THEY
    forms = {"m": ("er", "ihn", "ihm"), "f": ("sie", "sie", "ihr"), "n": ("es", "es", "ihm")}[phrase.gender]
    return _pronoun("it", "it", forms, "he", "er", phrase.gender, "")


def name_phrase(name: Name) -> Phrase:
    german = _cases(name.name, name.name, name.name)
    return Phrase(
        name.name, name.name, german, "he", "er", name.gender, own="his" if name.gender == "m" else "her", personal=True
    )


def owner_phrase(name: Name, noun: Noun, adjective: Adjective | None = None, *, plural: bool = False) -> Phrase:
    """Anna's new bicycle, Annas neues Fahrrad: the name takes -s and the adjective strong endings."""
    assert name.name[-1] not in "sxz"
    bare = noun_phrase(BARE, noun, adjective, plural=plural)
    return replace(
        bare,
        english=f"{name.name}'s {bare.english}",
        english_object=f"{name.name}'s {bare.english}",
        german={case: f"{name.name}s {form}" for case, form in bare.german.items()},
        definite=True,
    )


def genitive_phrase(phrase: Phrase, owner: Phrase) -> Phrase:
    """The roof of the old house, das Dach des alten Hauses."""
    english = f"{phrase.english} of {owner.english_object}"
    german = {case: f"{form} {owner.german['genitive']}" for case, form in phrase.german.items()}
    pairs = phrase.pairs | owner.pairs | {combination(phrase.head, owner.head)}
    return replace(phrase, english=english, english_object=english, german=german, pairs=pairs)
