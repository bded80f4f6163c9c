"""Patterns with one main clause: what people do, will do, did, must do and like to do, when and where.

Each pattern takes a `Draw` and returns one `SentencePair`; it raises `NoFitError` (through the draw) where parts do not fit.
"""

from dataclasses import replace

from adverbials import EVERY_TIME, FREQUENCIES, FUTURE_TIMES, NOW_TIMES, OPENERS, PAST_TIMES
from clauses import Clause, Tense, english_statement, english_tail, german_statement, german_tail
from draws import Draw, NoFitError, voluntary
from entries import Modal, Verb, words
from modals import ALLOWED, CAN, HAVE_TO, LIKE, MAY_NOT, MUST, PREFER, SHOULD, WANT, WOULD_LIKE
from nouns import NOUN
from outings import placed_verbs, suits_place
from places import ALL_PLACES
from sentences import SentencePair, finished, joined, statement
from usage import ATTITUDES, MISHAPS
from verbs import DITRANSITIVE, DOING, INTRANSITIVE_VERB, TRANSITIVE, VERB

PLEASURES = words("eat drink read write cook bake wear sing visit meet help watch") | {
    "listen to",
    "play with",
    "talk to",
    "dance with",
    "talk on the phone with",
}


def habit(draw: Draw) -> SentencePair:
    """Anna reads the newspaper every morning."""
    clause = draw.activity(draw.subject(), DOING, habit=True)
    if clause.verb.stative or draw.chance(0.4):
        return statement(replace(clause, frequency=draw.choice(FREQUENCIES)))
    time = draw.choice(EVERY_TIME if clause.verb.english != "prepare" else EVERY_TIME[:1] + EVERY_TIME[-4:])
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.5) else None)


def attitude(draw: Draw) -> SentencePair:
    """She knows the famous actress; they do not trust the waiter; we need three new chairs."""
    verbs = [verb for verb in DOING if verb.english in ATTITUDES]
    return statement(draw.activity(draw.subject(), verbs, negated=draw.chance(0.3)))


def past(draw: Draw) -> SentencePair:
    """Yesterday he called his mother: the Perfekt with its bracket."""
    clause = draw.activity(draw.subject(), DOING, tense="past")
    time = draw.time_for(clause.verb, "past")
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.5) else None)


def future(draw: Draw) -> SentencePair:
    """She will sell the house next year."""
    clause = draw.activity(draw.subject(), voluntary(DOING), tense="future")
    if draw.chance(0.25):
        return statement(clause)
    time = draw.time_for(clause.verb, "future")
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.4) else None)


def going_to(draw: Draw) -> SentencePair:
    """Tomorrow I am going to buy a table: Morgen kaufe ich einen Tisch."""
    clause = draw.activity(draw.subject(), voluntary((*DOING, *DITRANSITIVE)), tense="going_to")
    time = draw.time_for(clause.verb, "future")
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.5) else None)


def progressive(draw: Draw) -> SentencePair:
    """He is repairing the bicycle: er repariert gerade das Fahrrad."""
    return statement(draw.activity(draw.subject(), (*DOING, *DITRANSITIVE), tense="progressive", pronouns=0.2))


def negated(draw: Draw) -> SentencePair:
    """He does not drink coffee (kein); she did not sell the car (nicht)."""
    tense: Tense = draw.choice(("present", "past", "past", "future"))
    verbs = DOING if tense == "past" else voluntary(DOING)
    general = tense == "present"
    clause = draw.activity(draw.subject(), verbs, tense=tense, negated=True, habit=general, general=general)
    if general or draw.chance(0.4):
        return statement(clause)
    return statement(replace(clause, time=draw.time_for(clause.verb, tense)))


def modal_present(draw: Draw) -> SentencePair:
    """You must call the doctor; they want to invite our neighbours."""
    modal = draw.choice((CAN, MUST, HAVE_TO, ALLOWED, SHOULD, WANT, WANT, WOULD_LIKE, WOULD_LIKE))
    clause = replace(draw.activity(draw.subject(), voluntary((*DOING, *DITRANSITIVE))), modal=modal)
    if clause.verb.english == "celebrate" and modal in (CAN, MUST, HAVE_TO):
        raise NoFitError
    if draw.chance(0.4):
        return statement(clause)
    time = draw.time_for(clause.verb, "future")
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.3) else None)


def modal_negated(draw: Draw) -> SentencePair:
    """You must not lose the key (darf nicht); he does not have to work (muss nicht)."""
    modal: Modal = draw.choice((CAN, MAY_NOT, HAVE_TO, ALLOWED, WANT, SHOULD))
    verbs: list[Verb] = voluntary(DOING)
    if modal is MAY_NOT:
        verbs += [verb for verb in TRANSITIVE if verb.english in MISHAPS] * 3
    clause = replace(draw.activity(draw.subject(), verbs, negated=True), modal=modal)
    if modal in (MAY_NOT, SHOULD) and _not_one(clause) and clause.verb.english not in MISHAPS:
        raise NoFitError
    if clause.verb.english in MISHAPS or draw.chance(0.6):
        return statement(clause)
    return statement(replace(clause, time=draw.choice((*FUTURE_TIMES[:1], *NOW_TIMES[:1]))))


def modal_past(draw: Draw) -> SentencePair:
    """Yesterday we had to wait for the bus."""
    modal = draw.choice((CAN, HAVE_TO, HAVE_TO, ALLOWED, WANT))
    is_negated = draw.chance(0.25)
    clause = draw.activity(draw.subject(), voluntary((*DOING, *DITRANSITIVE)), negated=is_negated)
    time = draw.time_for(clause.verb, "past")
    clause = replace(clause, modal=modal, tense="past", time=time)
    return statement(clause, fronted=time if draw.chance(0.4) and not is_negated else None)


def liking(draw: Draw) -> SentencePair:
    """She likes to read novels (gern); I prefer to drink tea (lieber)."""
    modal = draw.choice((LIKE, LIKE, PREFER))
    if draw.chance(0.25):
        subject = draw.subject()
        names = ("swim", "dance", "play", "hike", "work", "have breakfast", "rest")
        verb, place = draw.choice(placed_verbs(names))
        if not suits_place(subject, verb.english):
            raise NoFitError
        return statement(Clause(subject, verb, modal=modal, place=draw.at_place(place)))
    verbs = [verb for verb in DOING if verb.english in PLEASURES]
    clause = replace(draw.activity(draw.subject(), verbs, habit=True, general=True), modal=modal)
    is_negated = modal is LIKE and draw.chance(0.2) and _all_definite(clause)
    return statement(replace(clause, negated=is_negated, time=draw.choice(EVERY_TIME) if draw.chance(0.3) else None))


def giving(draw: Draw) -> SentencePair:
    """He will show his sister the new flat; I sent her a letter yesterday."""
    tense: Tense = draw.choice(("past", "past", "future", "progressive"))
    clause = draw.activity(draw.subject(), DITRANSITIVE, tense=tense, negated=tense == "past" and draw.chance(0.15))
    if tense == "progressive":
        return statement(clause)
    time = draw.time_for(clause.verb, tense)
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.4) and not clause.negated else None)


def everyday_reflexive(draw: Draw) -> SentencePair:
    """You have to hurry today; yesterday my grandmother rested in the garden."""
    verb = INTRANSITIVE_VERB[draw.choice(("hurry", "rest", "get dressed", "get changed", "sit down", "apologise"))]
    subject = draw.subject()
    if draw.chance(0.6):
        modal = draw.choice((MUST, HAVE_TO, SHOULD, WANT, CAN))
        if verb.english == "hurry" and modal is CAN:
            raise NoFitError
        now_only = verb.english in ("get dressed", "get changed", "sit down")
        time = NOW_TIMES[1] if now_only else draw.choice((*NOW_TIMES[:2], FUTURE_TIMES[0]))
        return statement(Clause(subject, verb, modal=modal, time=time), fronted=time if draw.chance(0.4) else None)
    if verb.english == "rest":
        place = draw.choice([place for place in ALL_PLACES if "resting" in place.kinds])
        time = draw.choice(PAST_TIMES[:4])
        clause = Clause(subject, verb, "past", place=draw.at_place(place), time=time)
        return statement(clause, fronted=time if draw.chance(0.4) else None)
    if verb.english == "sit down":
        raise NoFitError
    time = draw.choice((PAST_TIMES[2], PAST_TIMES[3], PAST_TIMES[7]))
    return statement(Clause(subject, verb, "past", time=time), fronted=time if draw.chance(0.4) else None)


def pastime(draw: Draw) -> SentencePair:
    """In the evening we watch television; the child is crying; she is not allowed to smoke today."""
    name = draw.choice(("watch television", "watch television", "watch television", "laugh", "cry", "smoke", "go out"))
    verb, subject = INTRANSITIVE_VERB[name], draw.subject()
    noun = NOUN.get(subject.head)
    if name == "smoke" and noun is not None and "youngster" in noun.kinds:
        raise NoFitError
    kind = draw.choice(("habit", "often", "past", "progressive", "modal"))
    if kind == "modal" and name in ("watch television", "smoke", "go out"):
        modal, is_negated = draw.choice(
            ((WANT, False), (WANT, True), (ALLOWED, True), (ALLOWED, False), (WOULD_LIKE, False))
        )
        time = draw.choice((NOW_TIMES[0], *FUTURE_TIMES[3:5]))
        return statement(Clause(subject, verb, modal=modal, negated=is_negated, time=time))
    if kind == "progressive":
        return statement(Clause(subject, verb, "progressive"))
    if kind == "past":
        time = draw.choice(PAST_TIMES[:6])
        return statement(Clause(subject, verb, "past", time=time), fronted=time if draw.chance(0.5) else None)
    if kind == "often":
        return statement(Clause(subject, verb, frequency=draw.choice(FREQUENCIES[1:])))
    if name not in ("watch television", "smoke", "go out"):
        raise NoFitError
    time = draw.choice(EVERY_TIME)
    return statement(Clause(subject, verb, time=time), fronted=time if draw.chance(0.5) else None)


def opener(draw: Draw) -> SentencePair:
    """Unfortunately he lost his key; maybe they will sell the house."""
    start = draw.choice(OPENERS)
    if start.english == "maybe":
        clause = draw.activity(draw.subject(), voluntary((*DOING, *DITRANSITIVE)), tense="future")
        clause = replace(clause, time=draw.time_for(clause.verb, "future") if draw.chance(0.5) else None)
    else:
        good = start.english == "luckily"
        names = ("find", "understand", "see", "help", "repair") if good else ("lose", "forget", "miss", "break")
        verbs = [VERB[name] for name in names]
        clause = draw.activity(draw.subject(), verbs, tense="past")
        clause = replace(clause, time=draw.choice(PAST_TIMES[:2]) if draw.chance(0.3) else None)
    return statement(clause, fronted=start)


def shared_subject(draw: Draw) -> SentencePair:
    """In the evening Anna feeds the dog and reads the newspaper."""
    subject, time = draw.subject(), draw.choice(EVERY_TIME)
    first = replace(draw.activity(subject, DOING, habit=True, pronouns=0.1), time=time)
    second = draw.activity(subject, DOING, habit=True, pronouns=0.1)
    if first.verb == second.verb or first.verb.stative or second.verb.stative:
        raise NoFitError
    english = f"{english_statement(first, fronted=time)} and {english_tail(second)}"
    german = f"{german_statement(first, fronted=time)} und {german_tail(second)}"
    return finished(english, german, joined(first, second))


def _not_one(clause: Clause) -> bool:
    """Forbidding to sell a guitar is odd; forbidding to sell the guitar, or to drink any beer, is not."""
    return clause.direct is not None and clause.direct.english_object.startswith(("a ", "an "))


def _all_definite(clause: Clause) -> bool:
    return all(phrase is None or phrase.definite for phrase in (clause.direct, clause.complement))
