"""Patterns that say what things and people are like, and how they compare.

Each pattern takes a `Draw` and returns one `SentencePair`.
"""

from dataclasses import replace

from adjectives import ADJECTIVE, ADJECTIVES, COLOURS, NO_COMPARISON, PASSING, STATES
from adverbials import NOW_TIMES, PAST_TIMES
from clauses import Clause, Predicate, combinations, english_statement, german_statement
from draws import Draw, NoFitError
from entries import Adjective, Noun, matches, words
from nouns import ANIMALS, NAMES, NOUN, NOUNS, PEOPLE, RELATIVES
from phrases import (
    BARE,
    POSSESSIVE,
    THE,
    THESE,
    THIS,
    A,
    Phrase,
    combination,
    genitive_phrase,
    it_for,
    name_phrase,
    noun_phrase,
    number_determiner,
    owner_phrase,
)
from sentences import SentencePair, finished, statement
from verbs import BE, TASTE, TRANSITIVE

BUY = next(verb for verb in TRANSITIVE if verb.english == "buy")
PRICED = words("clothes furniture devices bicycle luggage boxes book novel dictionary ticket vase doll ball ring guitar")
PARTS = {
    "roof": "house church school factory hotel",
    "door": "house car room kitchen church flat bathroom",
    "window": "room kitchen bedroom house car office",
    "colour": "car dress door carpet sofa house shirt flower",
    "price": "car house ticket camera computer sofa wine ring",
}
PART_ADJECTIVES = {
    "roof": ("new", "old", "red"),
    "door": ("new", "old", "red", "green", "blue", "dirty", "broken"),
    "window": ("new", "old", "big", "small", "dirty", "clean", "broken"),
    "colour": ("beautiful",),
    "price": ("high",),
}
DEGREES = (("", ""), ("very", "sehr"), ("too", "zu"))
TOO = words("high big small expensive heavy hot cold sweet long short loud slow difficult boring dangerous young old")
GOOD = words("new beautiful cheap good modern comfortable fast clean interesting exciting easy warm")
BAD = words("old expensive heavy dirty cold boring difficult slow loud dangerous big small long short sad broken")
OPPOSITES = frozenset(
    frozenset(pair)
    for pair in zip(
        ("new", "old", "big", "cheap", "clean", "hot", "warm", "warm", "long", "boring", "boring", "difficult", "fast"),
        (
            "old",
            "young",
            "small",
            "expensive",
            "dirty",
            "cold",
            "cold",
            "hot",
            "short",
            "interesting",
            "exciting",
            "easy",
            "slow",
        ),
        strict=True,
    )
) | frozenset(
    frozenset(pair)
    for pair in zip(
        ("loud", "funny", "ill", "clever", "hard-working", "tall", "big", "modern", "modern", "funny", "new", "interesting"),
        ("quiet", "sad", "healthy", "lazy", "lazy", "small", "tall", "old", "new", "boring", "broken", "exciting"),
        strict=True,
    )
)
OWNED = words("own_vehicles house garden pet luggage jacket umbrella guitar key camera computer mobile_phone flat")


def is_so(draw: Draw) -> SentencePair:
    """The new lamp is very expensive; these apples are not ripe."""
    noun = draw.noun(frozenset().union(*(adjective.kinds for adjective in ADJECTIVES)) - {"people", "kin"})
    if matches(noun.kinds, words("people kin wealth")):
        raise NoFitError
    subject = described(draw, noun, plural=draw.plural(noun, 0.3))
    adjective = predicate_adjective(draw, noun)
    return _predication(draw, subject, adjective)


def is_person_so(draw: Draw) -> SentencePair:
    """My sister was very tired yesterday; the children are hungry."""
    if draw.chance(0.2):
        noun = draw.choice(ANIMALS)
        subject = described(draw, noun, plural=draw.chance(0.3))
        adjective = draw.choice([adjective for adjective in ADJECTIVES if matches(noun.kinds, adjective.kinds)])
        if adjective.english in COLOURS:
            raise NoFitError
    else:
        subject = draw.subject()
        fitting = words("people kin")
        adjective = draw.choice([adjective for adjective in ADJECTIVES if adjective.kinds & fitting])
    if combination(adjective.english, subject.head) in subject.pairs or _repeats(subject, adjective):
        raise NoFitError
    state = adjective.english in STATES
    tense = "past" if state and draw.chance(0.35) else "present"
    time = draw.choice(PAST_TIMES[:3] if tense == "past" else NOW_TIMES) if state and draw.chance(0.6) else None
    if tense == "past" and time is None:
        time = PAST_TIMES[0]
    degree = draw.choice(DEGREES[:2])
    negated = not degree[0] and draw.chance(0.3)
    clause = Clause(
        subject, BE, "past" if tense == "past" else "present", negated=negated, time=time,
        predicate=_degree(degree, adjective), extra_pairs=pair_of(adjective, subject),
    )  # fmt: skip
    return statement(clause, fronted=time if time and draw.chance(0.35) and not negated else None)


def tasting(draw: Draw) -> SentencePair:
    """The fresh bread tastes very good: Das frische Brot schmeckt sehr gut."""
    noun = draw.noun(words("foods groceries drinks"))
    subject = described(draw, noun, plural="several" in noun.kinds or draw.chance(0.2))
    english, german = draw.choice((("good", "gut"), ("very good", "sehr gut"), ("bad", "schlecht")))
    if any(pair.startswith(("good", "cold", "big", "small")) for pair in subject.pairs):
        raise NoFitError
    pairs = frozenset([combination(noun.english, TASTE.infinitive)])
    clause = Clause(
        subject,
        TASTE,
        negated=english == "good" and draw.chance(0.5),
        predicate=Predicate(english, german),
        extra_pairs=pairs,
    )
    return statement(clause)


def but_it(draw: Draw) -> SentencePair:
    """The lamp is new, but it is expensive; he bought a jacket, but it is too small."""
    noun = draw.noun(PRICED | {"flat", "house", "film", "soup", "coffee", "room", "exam"})
    fitting = [adjective for adjective in ADJECTIVES if matches(noun.kinds, adjective.kinds)]
    first = draw.choice([adjective for adjective in fitting if adjective.english in GOOD | BAD])
    other = BAD if first.english in GOOD else GOOD
    second = draw.choice([adjective for adjective in fitting if adjective.english in other])
    if second.english == "new" or _contradict(first, second):
        raise NoFitError
    plural = draw.plural(noun, 0.2)
    degree = draw.choice(DEGREES[:2] if second.english in GOOD or second.english in NO_COMPARISON else DEGREES)
    if second.english in ("big", "small", "long", "short"):
        degree = DEGREES[2]
    elif degree[0] == "too" and second.english not in TOO:
        degree = DEGREES[0]
    if draw.chance(0.5) and matches(noun.kinds, BUY.objects) and not noun.mass:
        subject = draw.subject()
        described = first if first.english not in PASSING and draw.chance(0.5) else None
        if described is None and second.english in GOOD:
            raise NoFitError
        determiner = (BARE if "pairs" in noun.kinds else number_determiner(2)) if plural else A
        thing = noun_phrase(determiner, noun, described, plural=plural)
        main = Clause(subject, BUY, "past", direct=thing)
    else:
        thing = noun_phrase(draw.choice([THE, THESE if plural else THIS]), noun, plural=plural)
        main = Clause(thing, BE, predicate=_degree(DEGREES[0], first), extra_pairs=pair_of(first, thing))
    comment = Clause(it_for(thing), BE, predicate=_degree(degree, second), extra_pairs=pair_of(second, thing))
    return but(main, comment)


def comparison(draw: Draw) -> SentencePair:
    """The train is faster than the bus; my brother is not as old as my sister."""
    adjective = draw.choice([adjective for adjective in ADJECTIVES if adjective.english not in NO_COMPARISON])
    group = draw.choice((RELATIVES, RELATIVES, PEOPLE, NOUNS, NOUNS, NOUNS, NOUNS, NOUNS))
    fitting = [noun for noun in group if matches(noun.kinds, adjective.kinds) and not noun.mass]
    first = draw.choice(fitting)
    if group is NOUNS and matches(first.kinds, words("people kin")):
        raise NoFitError
    common = first.kinds - {
        "pairs",
        "mine",
        "known",
        "several",
        "lies",
        "stands",
        "hangs",
        "beside",
        "behind",
        "top",
        "under",
        "inside",
        "switched",
        first.english,
    }
    second = draw.choice([noun for noun in fitting if noun != first and matches(noun.kinds, common)])
    left, right = _compared(draw, first), _compared(draw, second)
    if first in RELATIVES and draw.chance(0.35):
        right = name_phrase(draw.choice(NAMES))
    if first in RELATIVES and draw.chance(0.25):
        left = name_phrase(draw.choice(NAMES))
    if left.english == right.english:
        raise NoFitError
    if draw.chance(0.65):
        english = f"{adjective.english_comparative} than {right.english}"
        german = f"{adjective.comparative} als {right.german['nominative']}"
        negated = False
    else:
        english = f"as {adjective.english} as {right.english}"
        german = f"so {adjective.german} wie {right.german['nominative']}"
        negated = draw.chance(0.6)
        german = german if negated else f"genau{german}"
        english = english if negated else f"just {english}"
    pairs = pair_of(adjective, left) | {combination(left.head or left.english, right.head or right.english)}
    return statement(Clause(left, BE, negated=negated, predicate=Predicate(english, german), extra_pairs=pairs))


def owner(draw: Draw) -> SentencePair:
    """Anna's new bicycle is very fast; our neighbour's dog is ill (der Hund unseres Nachbarn)."""
    noun = draw.noun(OWNED)
    adjective = predicate_adjective(draw, noun)
    plural = draw.chance(0.15)
    if draw.chance(0.4):
        return _predication(draw, owner_phrase(draw.choice(NAMES), noun, plural=plural), adjective)
    possessor = draw.person(plain=True)
    person = NOUN[possessor.head]
    if possessor.gender == "p" or (
        "youngster" in person.kinds and not matches(noun.kinds, words("pet luggage bicycle jacket"))
    ):
        raise NoFitError
    thing = genitive_phrase(noun_phrase(THE, noun, plural=plural), possessor)
    bare = noun_phrase(BARE, noun, plural=plural)
    english = f"{possessor.english}'s {bare.english}"
    return _predication(draw, replace(thing, english=english, english_object=english), adjective)


def part_of(draw: Draw) -> SentencePair:
    """The roof of the old house is red: Das Dach des alten Hauses ist rot."""
    part = draw.choice(tuple(PARTS))
    whole = draw.noun(frozenset(PARTS[part].split()))
    adjective = draw.adjective(whole) if draw.chance(0.5) else None
    determiner = (
        POSSESSIVE[draw.choice(["my", "your", "his", "her", "our"])]
        if whole.english in ("car", "house") and draw.chance(0.4)
        else THE
    )
    described = noun_phrase(determiner, whole, adjective)
    if described.head == "car" and part in ("door", "window") and adjective and adjective.english in COLOURS:
        raise NoFitError
    subject = genitive_phrase(noun_phrase(THE, NOUN[part]), described)
    return _predication(draw, subject, ADJECTIVE[draw.choice(PART_ADJECTIVES[part])])


def _predication(draw: Draw, subject: Phrase, adjective: Adjective) -> SentencePair:
    if combination(adjective.english, subject.head) in subject.pairs or _repeats(subject, adjective):
        raise NoFitError
    degree = DEGREES[0]
    if adjective.english not in NO_COMPARISON and draw.chance(0.5):
        degree = DEGREES[2] if adjective.english in TOO and draw.chance(0.5) else DEGREES[1]
    clause = Clause(
        subject, BE, "past" if draw.chance(0.15) else "present", negated=degree[0] != "too" and draw.chance(0.2),
        predicate=_degree(degree, adjective), extra_pairs=pair_of(adjective, subject),
    )  # fmt: skip
    return statement(clause)


def _repeats(subject: Phrase, adjective: Adjective) -> bool:
    """The adjective within the subject contradicts the predicate, or both are colours."""
    for pair in subject.pairs:
        inner = pair.partition(" + ")[0]
        if inner in COLOURS and adjective.english in COLOURS:
            return True
        if frozenset([inner, adjective.english]) in OPPOSITES:
            return True
    return False


def _contradict(first: Adjective, second: Adjective) -> bool:
    return frozenset([first.english, second.english]) in OPPOSITES


def but(main: Clause, comment: Clause) -> SentencePair:
    english = f"{english_statement(main)}, but {english_statement(comment)}"
    german = f"{german_statement(main)}, aber {german_statement(comment)}"
    return finished(english, german, combinations(main) | combinations(comment))


def predicate_adjective(draw: Draw, noun: Noun) -> Adjective:
    return draw.choice([adjective for adjective in ADJECTIVES if matches(noun.kinds, adjective.kinds)])


def described(draw: Draw, noun: Noun, *, plural: bool, owner: str | None = None) -> Phrase:
    """The thing a sentence is about: the, this or a possessive, now and then with an adjective."""
    plural = plural or "pairs" in noun.kinds
    adjective = draw.adjective(noun) if draw.chance(0.3) else None
    determiner = draw.choice([THE, THE, THESE if plural else THIS, POSSESSIVE[owner] if owner else THE])
    return noun_phrase(determiner, noun, adjective, plural=plural and not noun.mass)


def _compared(draw: Draw, noun: Noun) -> Phrase:
    if "kin" in noun.kinds:
        return noun_phrase(POSSESSIVE[draw.choice(["my", "your", "our", "his", "her"])], noun)
    if "mine" in noun.kinds:
        return noun_phrase(POSSESSIVE[draw.choice(["my", "your", "our"])], noun)
    return noun_phrase(THE, noun, plural=draw.plural(noun, 0.05))


def _degree(degree: tuple[str, str], adjective: Adjective) -> Predicate:
    return Predicate(f"{degree[0]} {adjective.english}".strip(), f"{degree[1]} {adjective.german}".strip())


def pair_of(adjective: Adjective, subject: Phrase) -> frozenset[str]:
    return frozenset([combination(adjective.english, subject.head or subject.english)])
