"""Patterns that ask and patterns that request: yes/no questions, question words, du imperatives.

Each pattern takes a `Draw` and returns one `SentencePair`. "you" is du everywhere; "where" is wohin with verbs of motion.
"""

from dataclasses import replace

from adverbials import FUTURE_TIMES, HABITUAL_TIMES, PAST_TIMES, WEEKDAYS
from clauses import (
    Clause,
    Tense,
    combinations,
    english_imperative,
    english_question,
    english_statement,
    german_imperative,
    german_question,
    german_statement,
)
from descriptions import PRICED
from draws import Draw, NoFitError, voluntary
from entries import matches, words
from modals import ALLOWED, CAN, HAVE_TO, WANT, WOULD_LIKE
from nouns import NAMES, NOUN
from phrases import BARE, HE, SHE, THE, THEY, WE, WHICH, WHO, YOU, Phrase, combination, name_phrase, noun_phrase
from places import ALL_PLACES
from sentences import SentencePair, finished
from usage import ATTITUDES
from verbs import (
    ARRIVE,
    BE,
    COST,
    DATIVE,
    DEPART,
    DITRANSITIVE,
    DOING,
    HAVE,
    INTRANSITIVE,
    INTRANSITIVE_VERB,
    LIE,
    MOTION,
    START,
    TRANSITIVE,
    VERB,
    verbs_named,
)

# What one asks "what" about, by the tense of the question.
ASKED_WHAT: tuple[tuple[str, Tense], ...] = (
    *((name, "progressive") for name in words("eat drink read cook write bake repair draw paint build prepare wear")),
    *((name, "past") for name in words("buy sell order find lose forget bring~along borrow hide")),
    ("look for", "progressive"),
    ("need", "present"),
)


def yes_no(draw: Draw) -> SentencePair:
    """Did you call your mother yesterday? Is he repairing the bicycle? Do you know the man? Can she help us?"""
    subject = _asked_about(draw)
    if draw.chance(0.3):
        modal = draw.choice((CAN, CAN, WANT, HAVE_TO, WOULD_LIKE, ALLOWED))
        clause = replace(draw.activity(subject, voluntary((*DOING, *DITRANSITIVE))), modal=modal)
        return _question(replace(clause, time=draw.time_for(clause.verb, "future") if draw.chance(0.4) else None))
    tense: Tense = draw.choice(("present", "present", "past", "past", "future", "progressive"))
    if tense == "present" and draw.chance(0.4):
        return _question(draw.activity(subject, [verb for verb in DOING if verb.english in ATTITUDES]))
    verbs = DOING if tense in ("past", "present") else voluntary(DOING)
    clause = _asked_activity(draw, subject, verbs, tense, habit=tense == "present")
    if tense == "progressive" or draw.chance(0.4):
        return _question(clause)
    time = draw.choice(HABITUAL_TIMES[:4]) if tense == "present" else draw.time_for(clause.verb, tense)
    return _question(replace(clause, time=time))


def yes_no_motion(draw: Draw) -> SentencePair:
    """Did they drive to the airport? Do you work at the hospital?"""
    subject = _asked_about(draw)
    if draw.chance(0.5):
        verb = draw.choice(MOTION)
        place = draw.choice([place for place in ALL_PLACES if matches(place.kinds, verb.places) and place.fixed is None])
        tense: Tense = draw.choice(("past", "future"))
        clause = Clause(subject, verb, tense, place=draw.to_place(place))
        return _question(replace(clause, time=draw.choice(PAST_TIMES if tense == "past" else FUTURE_TIMES)))
    verb = draw.choice([verb for verb in INTRANSITIVE if verb.places])
    place = draw.choice([place for place in ALL_PLACES if matches(place.kinds, verb.places)])
    return _question(Clause(subject, verb, draw.choice(("present", "past")), place=draw.at_place(place)))


def what(draw: Draw) -> SentencePair:
    """What is your brother reading? Was liest dein Bruder gerade?"""
    name, tense = draw.choice(sorted(ASKED_WHAT))
    subject = _asked_about(draw, names=0.5)
    verb = VERB[name]
    time = draw.time_for(verb, "past") if tense == "past" and draw.chance(0.7) else None
    pairs = frozenset([combination(verb.infinitive, subject.head or subject.english)])
    return _question(Clause(subject, verb, tense, time=time, extra_pairs=pairs), "what", "was")


def who(draw: Draw) -> SentencePair:
    """Who repaired the washing machine? Wer hat die Waschmaschine repariert?"""
    tense: Tense = draw.choice(("past", "past", "progressive", "future"))
    clause = draw.activity(WHO, voluntary((*DOING, *DITRANSITIVE)), tense=tense)
    modal = draw.choice((CAN, WANT)) if tense == "future" and draw.chance(0.7) else None
    if modal:
        clause = replace(clause, tense="present", modal=modal)
    return finished(english_statement(clause), german_statement(clause), combinations(clause), "?")


def where(draw: Draw) -> SentencePair:
    """Where did you buy the new lamp? Where are my keys? Where is your uncle going? (wohin)"""
    kind = draw.choice(("done", "done", "done", "thing", "going"))
    if kind == "thing":
        noun = draw.noun(words("small luggage texts own_vehicles pet mobile_phone"))
        asker = replace(WHO, own=draw.choice(["my", "your", "his", "her", "our"]))
        thing = draw.thing(noun, asker, LIE, "definite")
        return _question(Clause(thing, BE, extra_pairs=frozenset([combination("where", noun.english)])), "where", "wo")
    subject = _asked_about(draw)
    if kind == "going":
        verb = draw.choice([verb for verb in MOTION if verb.english != "run"])
        tense: Tense = draw.choice(("past", "future"))
        time = draw.choice(PAST_TIMES if tense == "past" else FUTURE_TIMES)
        pairs = frozenset([combination(verb.infinitive, subject.head or subject.english)])
        return _question(Clause(subject, verb, tense, time=time, extra_pairs=pairs), "where", "wohin")
    name = draw.choice(("buy", "find", "lose", "meet", "repair", "see", "hide", "order", "try~on"))
    return _question(_asked_activity(draw, subject, [VERB[name]], "past", definite=True), "where", "wo")


def when(draw: Draw) -> SentencePair:
    """When does the train leave? When will you visit your aunt?"""
    kind = draw.choice(("vehicle", "event", "done", "done", "done", "done", "up"))
    if kind == "vehicle":
        noun = NOUN[draw.choice(("train", "bus"))]
        time = draw.choice(WEEKDAYS) if draw.chance(0.7) else None
        verb = draw.choice((DEPART, ARRIVE))
        pairs = frozenset([combination(noun.english, verb.infinitive)])
        return _question(Clause(noun_phrase(THE, noun), verb, time=time, extra_pairs=pairs), "when", "wann")
    if kind == "event":
        noun = draw.noun(words("starts_on film"))
        subject = noun_phrase(THE, noun, draw.adjective(noun) if draw.chance(0.3) else None)
        return _question(Clause(subject, START, time=draw.choice(WEEKDAYS)), "when", "wann")
    subject = _asked_about(draw)
    if kind == "up":
        verb = INTRANSITIVE_VERB[draw.choice(("get up", "wake up", "come back", "go out", "have breakfast", "fall asleep"))]
        pairs = frozenset([combination(verb.infinitive, subject.head or subject.english)])
        time = draw.choice((*HABITUAL_TIMES[10:], PAST_TIMES[0]))
        tense: Tense = "past" if time == PAST_TIMES[0] else "present"
        return _question(Clause(subject, verb, tense, time=time, extra_pairs=pairs), "when", "wann")
    tense = draw.choice(("past", "future"))
    return _question(_asked_activity(draw, subject, voluntary(DOING), tense, definite=True), "when", "wann")


def why(draw: Draw) -> SentencePair:
    """Why did you sell the car? Why does she have to call the doctor?"""
    subject = _asked_about(draw)
    if draw.chance(0.35):
        modal = draw.choice((WANT, HAVE_TO))
        return _question(replace(draw.activity(subject, voluntary(DOING)), modal=modal), "why", "warum")
    return _question(_asked_activity(draw, subject, DOING, "past"), "why", "warum")


def how_much(draw: Draw) -> SentencePair:
    """How much does the red lamp cost? Wie viel kostet die rote Lampe?"""
    noun = draw.noun(PRICED)
    plural = draw.plural(noun)
    adjective = draw.adjective(noun) if draw.chance(0.7) else None
    subject = noun_phrase(THE, noun, adjective, plural=plural)
    pairs = subject.pairs | {combination(COST.infinitive, noun.english)}
    return _question(Clause(subject, COST, extra_pairs=pairs), "how much", "wie viel")


def how_many(draw: Draw) -> SentencePair:
    """How many red apples did you buy? Wie viele rote Äpfel hast du gekauft?"""
    verb = draw.choice(
        (
            HAVE,
            *(VERB[name] for name in ("buy", "need", "eat", "write", "read", "find", "sell", "borrow", "bake")),
        )
    )
    kinds = words("pet clothes small texts luggage") if verb is HAVE else verb.objects
    noun = draw.noun(kinds - {"wealth", "homes"})
    if noun.mass or noun.plural_only or (verb.english == "buy" and "furniture" in noun.kinds):
        raise NoFitError
    counted = noun_phrase(BARE, noun, draw.adjective(noun, verb) if draw.chance(0.35) else None, plural=True)
    tense: Tense = "present" if verb.english in ("have", "need") else "past"
    pairs = counted.pairs | {combination(verb.infinitive, noun.english)}
    time = draw.time_for(verb, "past") if tense == "past" and draw.chance(0.5) else None
    clause = Clause(_asked_about(draw), verb, tense, time=time, extra_pairs=pairs)
    return _question(clause, f"how many {counted.english}", f"wie viele {counted.german['accusative']}")


def which(draw: Draw) -> SentencePair:
    """Which novel are you reading? Welchen Roman liest du gerade?"""
    verb = draw.choice(verbs_named("read buy wear watch repair learn sing order translate borrow need take clean"))
    name, noun = verb.english, draw.noun(verb.objects - {"wealth"})
    plural = draw.plural(noun, 0.0 if name in ("take", "watch") else 0.3)
    subject = _asked_about(draw)
    if noun.mass or noun.plural_only or (subject.gender == "m" and noun.english in ("dress", "skirt", "blouse")):
        raise NoFitError
    chosen = noun_phrase(WHICH, noun, draw.adjective(noun, verb) if draw.chance(0.2) else None, plural=plural)
    pairs = chosen.pairs | {combination(verb.infinitive, noun.english)}
    clause = Clause(subject, verb, extra_pairs=pairs)
    if name != "need" and draw.chance(0.35):
        clause = replace(clause, modal=draw.choice((WANT, WOULD_LIKE, HAVE_TO)))
    elif name != "need":
        lasting = not verb.stative and name not in ("buy", "order", "borrow")
        tense: Tense = draw.choice(("past", "progressive" if lasting else "past"))
        clause = replace(clause, tense=tense)
    return _question(clause, chosen.english, chosen.german["accusative"])


def request(draw: Draw) -> SentencePair:
    """Please open the window: Mach bitte das Fenster auf."""
    negated = draw.chance(0.2)
    verbs = [verb for verb in voluntary((*TRANSITIVE, *DATIVE, *DITRANSITIVE)) if verb.english != "celebrate"]
    clause = draw.activity(YOU, verbs, negated=negated)
    if negated and clause.direct and clause.direct.english_object.startswith(("a ", "an ")):
        raise NoFitError
    if (clause.direct and clause.direct.english in ("you",)) or (clause.indirect and clause.indirect.english == "you"):
        raise NoFitError
    time = draw.choice((*FUTURE_TIMES[:5], *WEEKDAYS)) if draw.chance(0.35) and not negated else None
    clause = replace(clause, time=time)
    return finished(f"please {english_imperative(clause)}", german_imperative(clause), combinations(clause))


def _asked_about(draw: Draw, *, names: float = 0.2) -> Phrase:
    """Who a question is about: mostly you, then third persons."""
    if draw.chance(names):
        return name_phrase(draw.choice(NAMES)) if draw.chance(0.5) else draw.person("your", plain=True)
    return draw.choice((YOU, YOU, YOU, HE, SHE, THEY, WE))


def _asked_activity(
    draw: Draw, subject: Phrase, verbs: object, tense: Tense, *, habit: bool = False, definite: bool = False
) -> Clause:
    """An activity; the auxiliary of a question makes "read" and "cut" unambiguous, so any subject will do."""
    assert isinstance(verbs, (list, tuple))
    base: Tense = "present" if tense == "past" else tense
    usable = [verb for verb in verbs if not (tense == "past" and verb.timeless)]
    clause = draw.activity(subject, usable, tense=base, habit=habit, general=habit)
    if definite and clause.direct and not clause.direct.definite and clause.direct.head and clause.direct.gender != "p":
        raise NoFitError
    return replace(clause, tense=tense)


def _question(clause: Clause, english: str = "", german: str = "") -> SentencePair:
    return finished(
        english_question(clause, question_word=english),
        german_question(clause, question_word=german),
        combinations(clause),
        "?",
    )
