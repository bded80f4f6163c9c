"""Patterns with a clause that explains, reports or conditions another: weil, dass, ob, wenn, and deshalb.

Each pattern takes a `Draw` and returns one `SentencePair`. The German subordinate clause ends in its finite verb and a comma
parts it from the main clause; a wenn clause in front makes the main clause start with its verb.
"""

from dataclasses import replace

from adjectives import ADJECTIVE
from adverbials import FUTURE_TIMES, NEAR, NOW_TIMES, WEEKDAYS
from clauses import Clause, Predicate, english_statement, german_inverted, german_statement, german_subordinate
from draws import Draw, NoFitError, voluntary
from entries import words
from modals import CAN, HAVE_TO, MUST, SHOULD, WANT, WOULD_LIKE
from nouns import NOUN
from outings import errand, on_the_way
from phrases import BARE, HE, NO, SHE, THE, THEY, WE, A, I, Phrase, combination, it_for, noun_phrase, resumed
from places import BED, HOME, MOUNTAINS, PLACE
from sentences import SentencePair, finished, joined
from verbs import (
    BE,
    DATIVE,
    DITRANSITIVE,
    DOING,
    GO,
    HAVE,
    HOPE,
    INTRANSITIVE_VERB,
    KNOW_THAT,
    SAY,
    THINK,
    TRANSITIVE,
    VERB,
    verbs_named,
)

# Errands that one may have to run.
DUTIES = words("buy bring~back pick~up visit cook prepare feed write sign")
STAY = INTRANSITIVE_VERB["stay"]
TIME_TAKING = words("visit help meet cook bake tidy~up clean wash repair prepare pick~up translate invite call")
# Why people feel as they do: the state, and the deeds that explain it.
FEELINGS = (
    ("happy", "find buy understand meet see visit sell repair solve"),
    ("sad", "lose break miss forget sell"),
    ("angry", "lose break miss forget"),
    ("tired", "clean tidy~up wash carry repair translate correct pack"),
)


def because_feeling(draw: Draw) -> SentencePair:
    """Anna is happy because she has found her key: … weil sie ihren Schlüssel gefunden hat."""
    subject = draw.subject(coreferent=True)
    state, names = draw.choice(FEELINGS)
    verbs = verbs_named(names)
    reason = draw.activity(resumed(subject), verbs, tense="past")
    return _joined_by("because", "weil", _being(subject, state), reason)


def because_plan(draw: Draw) -> SentencePair:
    """We are going to the market because we want to buy apples; he stays at home because he has to clean the kitchen."""
    subject = draw.subject(coreferent=True)
    if draw.chance(0.55):
        place, action = errand(draw, resumed(subject))
        main = on_the_way(draw, subject, place)
        past = main.tense == "past"
        duty = HAVE_TO if action.verb.english in DUTIES else WANT
        modal = draw.choice((WANT, duty) if past else (WANT, duty, duty, WOULD_LIKE))
        return _joined_by("because", "weil", main, replace(action, modal=modal, tense="past" if past else "present"))
    home = draw.at_place(HOME)
    main = Clause(subject, STAY, draw.choice(("past", "future")), place=home)
    verbs = verbs_named("clean tidy~up cook bake wash prepare write repair feed read correct")
    reason = replace(draw.activity(resumed(subject), verbs), modal=draw.choice((HAVE_TO, WANT)))
    if main.tense == "past":
        reason = replace(reason, tense="past")
    return _joined_by("because", "weil", main, reason)


def because_needed(draw: Draw) -> SentencePair:
    """Paul is looking for his umbrella because he needs it: … weil er ihn braucht."""
    subject = draw.subject(coreferent=True)
    need, search = (
        VERB["need"],
        draw.choice([VERB[name] for name in ("look for", "buy", "repair", "borrow")]),
    )
    wanted = {"look for": "small luggage mobile_phone book letter dictionary"}.get(search.english, "")
    main = draw.activity(subject, [search], tense="progressive" if search.english in ("look for", "repair") else "past")
    if wanted:
        main = replace(main, direct=draw.thing(draw.noun(words(wanted)), subject, search))
    thing = main.direct
    if (
        thing is None
        or thing.pronoun
        or NOUN.get(thing.head) is None
        or NOUN[thing.head].mass
        or "pet" in NOUN[thing.head].kinds
    ):
        raise NoFitError
    if search.english == "buy" and thing.gender == "p" and not thing.definite:
        raise NoFitError
    time = draw.choice((*FUTURE_TIMES[:2], *WEEKDAYS)) if draw.chance(0.5) else None
    reason = Clause(resumed(subject), need, direct=it_for(thing), time=time)
    return _joined_by("because", "weil", main, reason)


def that_clause(draw: Draw) -> SentencePair:
    """I think that she will call the doctor; he says that he has lost the key."""
    subject = draw.choice((I, I, WE, HE, SHE, draw.subject(), draw.subject()))
    matrix_verb = draw.choice((THINK, KNOW_THAT, HOPE, SAY))
    inner = draw.subject()
    if matrix_verb is SAY and subject.agreement != "he":
        raise NoFitError
    if matrix_verb is HOPE:
        clause = draw.activity(inner, voluntary((*DOING, *DITRANSITIVE)), tense="future", pronouns=0.2)
        clause = replace(clause, time=draw.time_for(clause.verb, "future") if draw.chance(0.4) else None)
    else:
        clause = _reported(draw, inner)
    return _joined_by("that", "dass", Clause(subject, matrix_verb, "present"), clause)


def whether(draw: Draw) -> SentencePair:
    """I do not know whether he has sold the car: Ich weiß nicht, ob er das Auto verkauft hat."""
    inner = draw.choice((HE, SHE, THEY, draw.subject(pronouns=0.0)))
    matrix = Clause(draw.choice((I, I, WE, draw.subject())), KNOW_THAT, negated=True)
    if matrix.subject.english == inner.english:
        raise NoFitError
    return _joined_by("whether", "ob", matrix, _reported(draw, inner))


def if_clause(draw: Draw) -> SentencePair:
    """If the weather is good tomorrow, we will swim in the lake: Wenn das Wetter morgen gut ist, werden wir …"""
    subject = draw.subject(coreferent=True)
    kind = draw.choice(("weather", "weather", "time", "time", "time", "money", "state", "find"))
    if kind == "weather":
        condition, result = _weather(draw, subject)
    elif kind == "time":
        time = draw.choice((*NEAR, *WEEKDAYS)) if draw.chance(0.7) else None
        condition = Clause(subject, HAVE, direct=noun_phrase(BARE, NOUN["time"]), time=time)
        verbs = verbs_named("visit call help cook bake read write repair tidy~up clean meet watch wash translate")
        result = draw.activity(resumed(subject), verbs, tense="future")
    elif kind == "money":
        condition = Clause(subject, HAVE, direct=noun_phrase(BARE, NOUN["money"]))
        buy = VERB["buy"]
        wanted = words("clothes furniture devices own_vehicles luggage texts ticket ring")
        result = Clause(resumed(subject), buy, "future", direct=draw.thing(draw.noun(wanted), subject, buy, "indefinite"))
    elif kind == "state":
        condition, result = _state_and_cure(draw, subject)
    else:
        verb = VERB[draw.choice(("find", "lose", "miss"))]
        condition = draw.activity(subject, [verb], pronouns=0.0)
        if condition.direct is None or not condition.direct.definite or condition.direct.head == "mistake":
            raise NoFitError
        result = replace(
            draw.activity(resumed(subject), verbs_named("call"), pronouns=0.4, kinds="kin names mine"),
            modal=draw.choice((HAVE_TO, SHOULD, CAN)),
        )
    english = f"if {english_statement(condition)}, {english_statement(result)}"
    german = f"{german_subordinate(condition, 'wenn')}, {german_inverted(result)}"
    return finished(english, german, joined(condition, result))


def therefore(draw: Draw) -> SentencePair:
    """It is raining, so we will stay at home; I have no time, so I cannot visit my aunt."""
    subject = draw.subject(coreferent=True)
    kind = draw.choice(("time", "money", "state", "lost"))
    if kind == "time":
        cause = Clause(subject, HAVE, direct=noun_phrase(NO, NOUN["time"]), time=draw.choice((*NOW_TIMES, None, None)))
        result = draw.activity(
            resumed(subject),
            [verb for verb in voluntary((*TRANSITIVE, *DATIVE)) if verb.english in TIME_TAKING],
            negated=True,
        )
    elif kind == "money":
        cause = Clause(subject, HAVE, direct=noun_phrase(NO, NOUN["money"]))
        result = draw.activity(resumed(subject), [VERB["buy"], VERB["order"]], negated=True)
    elif kind == "state":
        state = draw.choice(("ill", "tired"))
        cause = _being(subject, state)
        result = draw.activity(
            resumed(subject),
            [verb for verb in voluntary((*TRANSITIVE, *DATIVE)) if verb.english in TIME_TAKING],
            negated=True,
        )
    else:
        cause = draw.activity(subject, [VERB["lose"], VERB["break"]], tense="past")
        if (
            cause.direct is None
            or not cause.direct.definite
            or cause.direct.pairs
            or cause.direct.head in ("letter", "photo")
        ):
            raise NoFitError
        verb = VERB["need"] if draw.chance(0.3) else VERB["buy"]
        noun = NOUN[cause.direct.head]
        many = cause.direct.gender == "p"
        new = noun_phrase(BARE if many else A, noun, ADJECTIVE["new"], plural=many)
        result = Clause(resumed(subject), verb, direct=new, modal=HAVE_TO if verb.english == "buy" else None)
        return _so(cause, result)
    return _so(cause, replace(result, modal=CAN))


def _being(subject: Phrase, state: str) -> Clause:
    adjective = ADJECTIVE[state]
    return Clause(
        subject, BE, predicate=Predicate(adjective.english, adjective.german),
        extra_pairs=frozenset([combination(state, subject.head)] if subject.head else []),
    )  # fmt: skip


def _joined_by(english_word: str, german_word: str, main: Clause, inner: Clause) -> SentencePair:
    english = f"{english_statement(main)} {english_word} {english_statement(inner)}"
    german = f"{german_statement(main)}, {german_subordinate(inner, german_word)}"
    return finished(english, german, joined(main, inner))


def _so(cause: Clause, result: Clause) -> SentencePair:
    english = f"{english_statement(cause)}, so {english_statement(result)}"
    german = f"{german_statement(cause)}, deshalb {german_inverted(result)}"
    return finished(english, german, joined(cause, result))


def _reported(draw: Draw, inner: Phrase) -> Clause:
    tense = draw.choice(("past", "past", "future", "modal", "progressive"))
    if tense == "past":
        clause = draw.activity(inner, DOING, tense="past", pronouns=0.2)
        return replace(clause, time=draw.time_for(clause.verb, "past") if draw.chance(0.3) else None)
    if tense == "modal":
        return replace(draw.activity(inner, voluntary(DOING), pronouns=0.2), modal=draw.choice((CAN, WANT, HAVE_TO)))
    if tense == "progressive":
        return draw.activity(inner, voluntary(DOING), tense="progressive", pronouns=0.2)
    clause = draw.activity(inner, voluntary((*DOING, *DITRANSITIVE)), tense="future", pronouns=0.2)
    return replace(clause, time=draw.time_for(clause.verb, "future") if draw.chance(0.3) else None)


def _weather(draw: Draw, subject: Phrase) -> tuple[Clause, Clause]:
    good = draw.chance(0.6)
    time = draw.choice((FUTURE_TIMES[0], NOW_TIMES[0], *WEEKDAYS)) if draw.chance(0.5) else None
    condition = Clause(
        noun_phrase(THE, NOUN["weather"]),
        BE,
        time=time,
        predicate=Predicate(*(("good", "gut") if good else ("bad", "schlecht"))),
    )
    return condition, (_fair_weather if good else _foul_weather)(draw, subject)


def _state_and_cure(draw: Draw, subject: Phrase) -> tuple[Clause, Clause]:
    """If he is thirsty, he will drink water; if you are tired, you can go home."""
    state, names, kinds = draw.choice(
        (("hungry", "cook", "soup egg rice"), ("hungry", "eat", "foods groceries"), ("hungry", "order", "meals"),
         ("thirsty", "drink order", "cold_drinks"), ("tired", "", ""), ("ill", "", ""))
    )  # fmt: skip
    if not names:
        place = draw.to_place(draw.choice((BED, HOME)))
        return _being(subject, state), Clause(
            resumed(subject), GO, modal=draw.choice((MUST, HAVE_TO, CAN, SHOULD)), place=place
        )
    verb = VERB[draw.choice(names.split())]
    direct = draw.thing(draw.noun(words(kinds)), subject, verb, "indefinite")
    return _being(subject, state), Clause(resumed(subject), verb, "future", direct=direct)


def _fair_weather(draw: Draw, subject: Phrase) -> Clause:
    """Something to do outdoors."""
    who = resumed(subject) if subject.pronoun else subject
    kind = draw.choice(("swim", "walk", "hike", "read", "wash"))
    if kind == "swim":
        return Clause(
            who,
            INTRANSITIVE_VERB["swim"],
            "future",
            place=draw.at_place(PLACE[draw.choice(("lake", "sea", "river"))]),
        )
    if kind == "walk":
        return Clause(
            who,
            GO,
            "future",
            place=draw.to_place(PLACE[draw.choice(("park", "forest", "beach", "lake", "garden"))]),
        )
    if kind == "hike":
        place = draw.at_place(draw.choice((MOUNTAINS, PLACE["forest"])))
        return Clause(who, INTRANSITIVE_VERB["hike"], "future", place=place)
    verb = VERB[kind]
    if kind == "wash":
        return Clause(who, verb, "future", direct=draw.thing(NOUN["car"], subject, verb, "definite"))
    place = draw.at_place(PLACE[draw.choice(("garden", "park", "balcony"))], adjective=False)
    return Clause(who, verb, "future", direct=draw.thing(draw.noun(words("texts")), subject, verb), place=place)


def _foul_weather(draw: Draw, subject: Phrase) -> Clause:
    kind = draw.choice(("stay", "indoors", "read"))
    if kind == "stay":
        return Clause(subject, STAY, "future", place=draw.at_place(HOME))
    if kind == "indoors":
        return Clause(
            subject,
            GO,
            "future",
            place=draw.to_place(PLACE[draw.choice(("cinema", "museum", "theatre", "café", "library"))]),
        )
    verb = VERB[draw.choice(("read", "bake", "cook", "write", "watch", "take"))]
    return Clause(subject, verb, "future", direct=draw.object_of(verb, subject))
