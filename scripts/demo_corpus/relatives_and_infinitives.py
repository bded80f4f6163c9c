"""Patterns with a relative clause or an infinitive: der, die, das with the verb last, um … zu, zu.

Each pattern takes a `Draw` and returns one `SentencePair`.
"""

from dataclasses import replace

from adjectives import ADJECTIVE, NO_COMPARISON
from clauses import (
    Clause,
    Predicate,
    Tense,
    combinations,
    english_infinitive,
    english_statement,
    english_tail,
    german_infinitive,
    german_relative,
    german_statement,
    german_subordinate,
    german_tail,
)
from draws import Draw, NoFitError, voluntary
from entries import Adjective
from german import relative_pronoun
from nouns import NOUN, PEOPLE
from outings import errand, on_the_way
from phrases import HE, SHE, THE, WE, I, Phrase, combination, it_for, noun_phrase
from sentences import SentencePair, finished, joined
from verbs import BE, DITRANSITIVE, DOING, TRY, VERB, verbs_named


def purpose(draw: Draw) -> SentencePair:
    """She is going to the bakery to buy bread: Sie geht gerade zur Bäckerei, um Brot zu kaufen."""
    subject = draw.subject()
    place, action = errand(draw, subject)
    main = on_the_way(draw, subject, place)
    english = f"{english_statement(main)} {english_infinitive(action)}"
    german = f"{german_statement(main)}, {german_infinitive(action, 'um')}"
    return finished(english, german, joined(main, action))


def trying(draw: Draw) -> SentencePair:
    """He is trying to repair the radio: Er versucht gerade, das Radio zu reparieren."""
    subject = draw.subject()
    verbs = verbs_named(
        "repair open close turn~on find solve understand translate draw call help build bake correct explain learn"
    )
    action = draw.activity(subject, verbs, pronouns=0.15)
    main = Clause(subject, TRY, draw.choice(("progressive", "past")))
    english = f"{english_statement(main)} {english_infinitive(action)}"
    german = f"{german_statement(main)}, {german_infinitive(action)}"
    return finished(english, german, joined(main, action))


def important(draw: Draw) -> SentencePair:
    """It is important to learn the words: Es ist wichtig, die Wörter zu lernen."""
    adjective = ADJECTIVE[draw.choice(("important", "difficult", "easy", "boring"))]
    names = {
        "important": "learn read check lock prepare answer correct help understand discuss clean sign",
        "difficult": "understand translate solve explain find learn draw repair build organise",
        "easy": "understand translate solve explain find learn draw repair bake cook wash",
        "boring": "correct check peel clean tidy~up pack translate",
    }[adjective.english]
    verbs = verbs_named(names)
    it = it_for(noun_phrase(THE, NOUN["house"]))
    action = draw.activity(replace(it, own=""), verbs, pronouns=0.0)
    if any(pair.startswith(("easy", "difficult", "boring")) for pair in combinations(action)):
        raise NoFitError
    pairs = combinations(action) | {combination(adjective.english, action.verb.infinitive)}
    main = Clause(it, BE, negated=draw.chance(0.25), predicate=Predicate(adjective.english, adjective.german))
    english = f"{english_statement(main)} {english_infinitive(action)}"
    german = f"{german_statement(main)}, {german_infinitive(action)}"
    return finished(english, german, pairs)


def relative_subject(draw: Draw) -> SentencePair:
    """The man who bought our house is very friendly: Der Mann, der unser Haus gekauft hat, ist sehr freundlich."""
    noun = draw.choice([noun for noun in PEOPLE if "stranger" in noun.kinds])
    person = noun_phrase(THE, noun, plural=draw.chance(0.2))
    tense: Tense = draw.choice(("past", "past", "progressive"))
    inner = draw.activity(person, voluntary((*DOING, *DITRANSITIVE)), tense=tense, pronouns=0.15)
    english_part = f"who {english_tail(inner)}"
    german_part = german_relative(inner, relative_pronoun("nominative", person.gender))
    if draw.chance(0.5):
        adjective = draw.adjective(noun)
        assert adjective is not None
        return _described_by(person, adjective, english_part, german_part, combinations(inner))
    subject = draw.choice((I, WE, HE, SHE, draw.subject()))
    verb = VERB[draw.choice(("know", "know", "see", "thank", "help", "greet", "call"))]
    main = Clause(subject, verb, "present" if verb.english == "know" else "past", direct=person)
    english = f"{english_statement(main)} {english_part}"
    return finished(english, f"{german_statement(main)}, {german_part}", joined(main, inner))


def relative_object(draw: Draw) -> SentencePair:
    """The book that she is reading is very interesting: Das Buch, das sie gerade liest, ist sehr interessant."""
    verb = draw.choice(verbs_named("buy read wear repair sell write borrow find build bake paint watch order translate"))
    noun = draw.noun(verb.objects)
    if noun.plural_only or noun.english == "money" or "pet" in noun.kinds:
        raise NoFitError
    thing = noun_phrase(THE, noun, plural=draw.plural(noun))
    subject, adjective = draw.subject(), draw.adjective(noun)
    once = verb.english in ("buy", "sell", "order", "borrow", "find")
    tense: Tense = "past" if once or draw.chance(0.4) else "progressive"
    unclear = verb.english == "read" and tense == "past" and subject.agreement != "he"
    if adjective is None or unclear or (subject.gender == "m" and noun.english in ("dress", "skirt", "blouse")):
        raise NoFitError
    gap = Phrase("", "", dict.fromkeys(thing.german, ""), "he", "er", thing.gender, head=noun.english)
    time = draw.time_for(verb, "past") if tense == "past" and draw.chance(0.4) else None
    inner = Clause(subject, verb, tense, direct=gap, time=time)
    german_part = german_subordinate(inner, relative_pronoun("accusative", thing.gender))
    return _described_by(thing, adjective, f"that {english_statement(inner)}", german_part, combinations(inner))


def _described_by(
    noun: Phrase, adjective: Adjective, english_part: str, german_part: str, pairs: frozenset[str]
) -> SentencePair:
    """Noun, relative clause, and what the noun is like."""
    very = adjective.english not in NO_COMPARISON
    predicate = Predicate(f"{'very ' if very else ''}{adjective.english}", f"{'sehr ' if very else ''}{adjective.german}")
    main = Clause(noun, BE, predicate=predicate)
    english = f"{noun.english} {english_part} {english_tail(main)}"
    german = f"{noun.german['nominative']}, {german_part}, {german_tail(main)}"
    return finished(english, german, pairs | {combination(adjective.english, noun.head)})
