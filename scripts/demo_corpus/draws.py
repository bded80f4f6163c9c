"""Random, sensible parts of sentences: subjects, objects that fit a verb, places, adjectives that fit a noun.

A `Draw` wraps one random generator; what comes out are `Phrase`s, `Adverbial`s and `Clause`s. Nothing here orders words.
A draw that cannot be made sensible raises `NoFitError`, and the pattern that asked for it is drawn again.
"""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypeVar

from adjectives import ADJECTIVES, PASSING
from adverbials import FUTURE_TIMES, NEAR, PAST_TIMES, RECENT, WEEKDAYS
from clauses import Clause, Tense
from entries import Adjective, Adverbial, Noun, Place, Verb, matches, words
from german import contracted
from nouns import NAMES, NOUNS, PEOPLE, RELATIVES
from numbers_and_times import MINUTES, clock_time
from phrases import (
    BARE,
    NOT_A,
    NOT_ANY,
    POSSESSIVE,
    PRONOUNS,
    THE,
    THE_UNSAID,
    THESE,
    THIS,
    A,
    Determiner,
    Phrase,
    name_phrase,
    noun_phrase,
    number_determiner,
)
from places import PLACES
from usage import GREAT, HABITS, INVOLUNTARY, LASTING, NOT_OWN

Item = TypeVar("Item")
ROOM_NOUNS = tuple(place.noun for place in PLACES if place.noun is not None)
OWNABLE = words(
    "clothes small luggage own_vehicles mobile_phone camera computer bed room flat house desk guitar pet letters texts "
    "dictionary plan idea question problem mistake exam birthday hot_drinks meals mealtimes garden report text"
)
PERSONAL = words("people kin")
PERSON_KINDS = words(
    "people kin names known mine stranger youngster friend child guest neighbour niece nephew colleague boss customer"
)
# Nouns that stand without an article where other mass nouns could take one.
ALWAYS_BARE = words("music money time")
# Nouns that people rarely speak of in the plural.
SINGLE = words(
    "switched mealtimes roof garden openings kitchen bathroom birthday exam exhibition flat bed nuisance public cab wedding "
    "trip"
)


class NoFitError(Exception):
    """The parts drawn do not make a sensible sentence."""


class Draw:
    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choice(self, items: Sequence[Item]) -> Item:
        if not items:
            raise NoFitError
        return items[self._rng.randrange(len(items))]

    def chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    # People

    def subject(self, *, pronouns: float = 0.45, coreferent: bool = False) -> Phrase:
        """A person who does something; `coreferent` asks for one that a pronoun or possessive can resume."""
        while True:
            if self.chance(pronouns):
                return self.choice(PRONOUNS)
            phrase = (
                name_phrase(self.choice(NAMES)) if self.chance(0.45) else self.person(self.choice([None, None, "my", "our"]))
            )
            if not coreferent or phrase.own:
                return phrase

    def person(self, owner: str | None = None, *, wanted: frozenset[str] = PERSONAL, plain: bool = False) -> Phrase:
        """A person by kinship or role; `owner` is the English possessive to use where one is natural."""
        noun = self.choice([noun for noun in (*PEOPLE, *RELATIVES) if matches(noun.kinds, wanted)])
        plural = noun.plural_only or ("only_one" not in noun.kinds and self.chance(0.2))
        adjective = None if plain or not self.chance(0.2) else self.adjective(noun)
        if "kin" in noun.kinds:
            adjective = None if noun.english in ("father", "mother") or plural else adjective
            return noun_phrase(
                POSSESSIVE[owner or self.choice(["my", "your", "our", "his", "her"])],
                noun,
                adjective,
                plural=plural,
            )
        if "mine" in noun.kinds or ("known" in noun.kinds and self.chance(0.5)):
            return noun_phrase(POSSESSIVE[owner or "our"], noun, adjective, plural=plural)
        return noun_phrase(self.choice([THE, THE, THE, THE, THE, THESE if plural else THIS]), noun, adjective, plural=plural)

    def someone(self, wanted: frozenset[str], subject: Phrase, *, pronouns: float = 0.3, indefinite: bool = False) -> Phrase:
        """A person as an object, never the subject itself."""
        for _ in range(20):
            if self.chance(pronouns):
                phrase = self.choice(PRONOUNS)
            elif "names" in wanted and self.chance(0.3):
                phrase = name_phrase(self.choice(NAMES))
            elif indefinite and self.chance(0.4):
                strangers = [noun for noun in PEOPLE if matches(noun.kinds, wanted)]
                noun = self.choice(strangers)
                phrase = noun_phrase(A, noun, self.adjective(noun) if self.chance(0.3) else None)
            else:
                phrase = self.person(subject.own or "our", wanted=wanted)
            if _distinct(subject, phrase):
                return phrase
        raise NoFitError

    # Things

    def adjective(self, noun: Noun, verb: Verb | None = None) -> Adjective | None:
        """An adjective that fits the noun; one of a passing state only where the verb has to do with it."""
        fitting = _fitting_adjectives(noun, verb.english if verb else "")
        return self.choice(fitting) if fitting else None

    def noun(self, wanted: frozenset[str]) -> Noun:
        return self.choice(_fitting_nouns(wanted))

    def plural(self, noun: Noun, probability: float = 0.22) -> bool:
        """Whether to speak of several: always of shoes, mostly of potatoes, never of the weather or the kitchen."""
        if noun.plural_only or "pairs" in noun.kinds:
            return True
        if noun.mass or matches(noun.kinds, SINGLE):
            return False
        return self.chance(0.8 if "several" in noun.kinds else probability)

    def thing(
        self, noun: Noun, subject: Phrase, verb: Verb, determiners: str = "", *, negated: bool = False, general: bool = False
    ) -> Phrase:  # fmt: skip
        """A thing as an object: its determiner as the verb wants it, an adjective now and then.

        `general` is for what people always or never do: they read novels, they do not drink coffee.
        """
        wanted = determiners or verb.determiners
        plural = self.plural(noun)
        if "mealtimes" in noun.kinds:
            return noun_phrase(THE_UNSAID, noun)
        if noun.english in ALWAYS_BARE:
            return noun_phrase(NOT_ANY if negated else BARE, noun)
        if "dates" in noun.kinds:
            if noun.english == "birthday" and not subject.own:
                raise NoFitError
            return noun_phrase(POSSESSIVE[subject.own] if noun.english == "birthday" else THE, noun)
        if general and wanted in ("any", "indefinite"):
            plural = not noun.mass
            if plural and matches(noun.kinds, SINGLE):
                raise NoFitError
            return noun_phrase(NOT_ANY if negated else BARE, noun, plural=plural)
        adjective = self.adjective(noun, verb) if self.chance(0.4) else None
        determiner = self._determiner(noun, subject, verb, wanted, plural=plural, negated=negated)
        if determiner.english in ("our", "their") and subject.gender == "p" and "clothes" in noun.kinds:
            plural = True  # several people wear several coats
        return noun_phrase(determiner, noun, adjective, plural=plural)

    def _determiner(
        self, noun: Noun, subject: Phrase, verb: Verb, wanted: str, *, plural: bool, negated: bool
    ) -> Determiner:
        may_own = subject.own and verb.english not in NOT_OWN and matches(noun.kinds, OWNABLE)
        own = POSSESSIVE[subject.own] if may_own else THE
        definite = self.choice([THE, THE, THE, THE, own, own, own, own, THESE if plural else THIS])
        if wanted == "own":
            return own
        if wanted == "definite" or (wanted == "any" and self.chance(0.4)):
            return definite
        if negated:
            return NOT_ANY if plural or noun.mass else NOT_A
        if noun.mass:
            return BARE
        if plural:
            counted = "pairs" not in noun.kinds and self.chance(0.55)
            return number_determiner(self.choice([2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 10])) if counted else BARE
        return A

    def object_of(
        self, verb: Verb, subject: Phrase, *, negated: bool = False, general: bool = False, kinds: str = "",
        pronouns: float = 0.3, determiners: str = "",
    ) -> Phrase:  # fmt: skip
        """The accusative (or only dative) object of a verb: a person or a thing among the kinds it selects."""
        wanted = words(kinds) or verb.objects
        people = wanted & PERSON_KINDS
        things = wanted - people
        if people and (not things or self.chance(0.5)):
            return self.someone(people, subject, pronouns=pronouns)
        return self.thing(self.noun(things), subject, verb, determiners, negated=negated, general=general)

    def complement_of(self, verb: Verb, subject: Phrase, *, general: bool = False, kinds: str = "") -> Phrase:
        """The object of the verb's preposition."""
        wanted = words(kinds) or verb.complements
        people = wanted & PERSON_KINDS
        things = wanted - people
        if people and (not things or self.chance(0.55)):
            return self.someone(people, subject, indefinite=verb.determiners == "any" and "people" in people)
        noun = self.noun(things)
        if noun.english == "language" and verb.english == "be interested in":
            return noun_phrase(BARE, noun, plural=True)
        phrase = self.thing(noun, subject, verb, "definite" if general else "")
        if not phrase.definite and phrase.gender == "p":
            raise NoFitError
        return phrase

    # Places and times

    def to_place(self, place: Place, *, adjective: bool = True) -> Adverbial:
        if place.fixed:
            return Adverbial(place.fixed[0], place.fixed[1], place.name, direction=True)
        case = "dative" if place.german_to == "zu" else "accusative"
        return self._place(place, place.to, place.german_to, case, direction=True, adjective=adjective)

    def at_place(self, place: Place, *, adjective: bool = True) -> Adverbial:
        if place.fixed:
            return Adverbial(place.fixed[2], place.fixed[3], place.name)
        return self._place(place, place.at, place.german_at, "dative", direction=False, adjective=adjective)

    def _place(
        self, place: Place, english: str, preposition: str, case: str, *, direction: bool, adjective: bool
    ) -> Adverbial:
        assert place.noun is not None
        chosen = self.adjective(place.noun) if adjective and self.chance(0.25) else None
        phrase = noun_phrase(THE, place.noun, chosen)
        german = contracted(preposition, phrase.german["accusative" if case == "accusative" else "dative"], places=True)
        words = english.removesuffix("the") + phrase.english
        return Adverbial(words, german, place.name, direction, phrase.pairs)

    def clock(self, hours: Sequence[int] = range(1, 13)) -> Adverbial:
        english, german = clock_time(self.choice(hours), self.choice(MINUTES))
        return Adverbial(english, german, english)

    def time_for(self, verb: Verb, tense: Tense) -> Adverbial:
        """When it was or will be: last year only for what one still speaks of a year later."""
        if verb.english in GREAT:
            return self.choice(PAST_TIMES[8:] if tense == "past" else FUTURE_TIMES[8:])
        if verb.english == "prepare":  # no breakfast in the evening
            return self.choice(PAST_TIMES[:2] if tense == "past" else (*FUTURE_TIMES[:2], *WEEKDAYS))
        lasting = verb.english in LASTING
        if tense == "past":
            return self.choice(PAST_TIMES if lasting else RECENT)
        return self.choice(WEEKDAYS if self.chance(0.3) else FUTURE_TIMES if lasting else NEAR)

    # Whole activities

    def activity(
        self, subject: Phrase, verbs: Sequence[Verb], *, tense: Tense = "present", negated: bool = False,
        habit: bool = False, general: bool = False, kinds: str = "", pronouns: float = 0.3,
    ) -> Clause:  # fmt: skip
        """`subject` does something: one of the verbs with the objects it governs."""
        if tense == "progressive":
            verbs = [verb for verb in verbs if not verb.stative]
        if tense == "past":
            verbs = [verb for verb in verbs if not verb.timeless]
        if habit:
            verbs = [verb for verb in verbs if verb.english in HABITS]
        verb = self.choice(verbs)
        kinds = kinds or (HABITS.get(verb.english, "") if habit else "")
        direct = indirect = complement = None
        if verb.recipients:
            wanted = {"kin", "friend", "names"} if "kin_friends" in verb.recipients else {"people", "kin", "names"}
            indirect = self.someone(frozenset(wanted), subject)
            direct = self.thing(self.noun(words(kinds) or verb.objects), subject, verb, negated=negated)
        elif verb.objects:
            determiners = "indefinite" if habit and verb.determiners == "any" and self.chance(0.85) else ""
            direct = self.object_of(
                verb, subject, negated=negated, general=general, kinds=kinds, pronouns=pronouns, determiners=determiners
            )
        elif verb.complements:
            complement = self.complement_of(verb, subject, kinds=kinds)
        if tense == "past" and not negated and verb.english_past == verb.english.split("~")[0] and subject.agreement != "he":
            raise NoFitError  # "I read the book" does not say when
        wearer = indirect or (subject if verb.english in ("wear", "put~on", "take~off", "try~on") else None)
        if wearer and direct and wearer.gender != "f" and direct.head in ("dress", "skirt", "blouse"):
            raise NoFitError
        return Clause(subject, verb, tense, negated=negated, direct=direct, indirect=indirect, complement=complement)


def voluntary(verbs: Sequence[Verb]) -> list[Verb]:
    return [verb for verb in verbs if verb.english not in INVOLUNTARY]


@cache
def _fitting_nouns(wanted: frozenset[str]) -> list[Noun]:
    return [noun for noun in (*NOUNS, *ROOM_NOUNS) if matches(noun.kinds, wanted)]


@cache
def _fitting_adjectives(noun: Noun, verb: str) -> list[Adjective]:
    fitting = [adjective for adjective in ADJECTIVES if matches(noun.kinds, adjective.kinds)]
    return [adjective for adjective in fitting if verb in PASSING.get(adjective.english, {verb})]


def _distinct(subject: Phrase, other: Phrase) -> bool:
    """No I-me, I-us, Anna-Anna, my brother-my brother, he-him."""
    first = {"I", "we"}
    if subject.english in first and other.english in first:
        return False
    if other.english in (subject.english, subject.antecedent):
        return False
    return not (subject.head and subject.head == other.head)
