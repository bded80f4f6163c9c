"""Patterns about going places and doing things there, by the clock and the calendar.

Each pattern takes a `Draw` and returns one `SentencePair`. The errands (where one goes, and what for) also serve the
sentences with um … zu and weil.
"""

from dataclasses import replace

from adverbials import EVERY_TIME, FREQUENCIES, FUTURE_TIMES, HABITUAL_TIMES, PAST_TIMES, SPANS, WEEKDAYS
from clauses import Clause, Tense
from draws import Draw, NoFitError
from entries import Adverbial, Place, Verb, matches, words
from nouns import NOUN
from numbers_and_times import ROOM_NUMBERS
from phrases import THE, Phrase, combination, noun_phrase
from places import ALL_PLACES, BED, CITIES, HOME, MEANS, PLACE, SCHOOL, WORK
from sentences import SentencePair, statement
from verbs import ARRIVE, DEPART, DRIVE, GO, INTRANSITIVE, INTRANSITIVE_VERB, MOTION, RIDE, START, TAKE_PLACE, VERB

# verb, kinds of object, where that is done
SCENES = (
    ("read", "texts letters", ("garden", "park", "balcony", "living room", "library", "café", "bedroom")),
    ("drink", "drinks", ("café", "balcony", "kitchen", "garden", "living room")),
    ("eat", "foods", ("kitchen", "park", "garden", "balcony", "living room", "restaurant")),
    ("write", "letters", ("office", "living room", "library", "café", "bedroom")),
    ("meet", "known kin names", ("station", "café", "park", "museum", "swimming pool", "market", "airport")),
    ("wait for", "kin names known", ("station", "airport", "café", "bus stop", "office")),
    ("lose", "small scarf glove cap", ("park", "station", "cinema", "forest", "supermarket", "theatre")),
    ("find", "small scarf glove cap", ("park", "garden", "kitchen", "cellar", "bathroom", "bedroom", "office")),
    ("buy", "groceries drinks", ("supermarket",)),
    ("buy", "fruits raw flower cheese honey", ("market",)),
    ("buy", "baked", ("bakery",)),
    ("listen to", "music song", ("living room", "garden", "kitchen", "bedroom")),
    ("see", "names known", ("station", "theatre", "market", "park", "supermarket", "swimming pool", "cinema")),
    ("talk to", "known kin names", ("office", "garden", "kitchen", "park", "station", "market")),
)  # fmt: skip
_MORNINGS = (HABITUAL_TIMES[0], HABITUAL_TIMES[2], *HABITUAL_TIMES[10:])
_DAYS = (HABITUAL_TIMES[0], *HABITUAL_TIMES[10:])
_EVENINGS = (HABITUAL_TIMES[3], *HABITUAL_TIMES[10:])
# What people do at certain hours: verb, hours, habitual times, a past time.
ROUTINES = (
    ("get up", (5, 6, 7, 8, 9), _MORNINGS, PAST_TIMES[0]),
    ("wake up", (5, 6, 7, 8, 9), _MORNINGS, PAST_TIMES[0]),
    ("have breakfast", (6, 7, 8, 9, 10), _MORNINGS, PAST_TIMES[0]),
    ("have lunch", (11, 12, 1, 2), _DAYS, PAST_TIMES[0]),
    ("come back", tuple(range(1, 13)), _DAYS, PAST_TIMES[0]),
    ("go out", (6, 7, 8, 9, 10), _EVENINGS, PAST_TIMES[3]),
    ("fall asleep", (8, 9, 10, 11, 12), _EVENINGS, PAST_TIMES[3]),
)
# Errands: where one goes, what one does there, and to which kinds of thing.
ERRANDS = (
    ("supermarket", "buy", "groceries drinks raw fruits"),
    ("market", "buy", "fruits raw flower cheese honey"),
    ("bakery", "buy", "baked"),
    ("library", "borrow", "texts dictionary"),
    ("library", "bring~back", "texts dictionary"),
    ("station", "pick~up", "known kin names"),
    ("airport", "pick~up", "known kin names"),
    ("station", "buy", "ticket newspaper magazine"),
    ("hospital", "visit", "known kin names"),
    ("cinema", "watch", "film"),
    ("museum", "visit", "exhibition"),
    ("restaurant", "eat", "meals"),
    ("café", "drink", "hot_drinks juice lemonade"),
    ("café", "meet", "known kin names"),
    ("kitchen", "cook", "soup rice potato egg meat"),
    ("kitchen", "bake", "baked pizza"),
    ("kitchen", "prepare", "mealtimes"),
    ("kitchen", "wash", "fruits tomato carrot"),
    ("garden", "feed", "animals"),
    ("garden", "photograph", "plants animals"),
    ("garden", "play with", "pet ball"),
    ("office", "write", "letters report"),
    ("office", "sign", "contract form"),
    ("office", "talk to", "colleague boss customer"),
    ("living room", "turn~on", "television radio lamp computer"),
    ("cellar", "look for", "suitcase umbrella ball boot doll backpack"),
    ("cellar", "repair", "bicycle washing_machine chair lamp"),
)
INDEFINITE_ERRANDS = words("buy borrow watch eat drink cook bake")


def motion(draw: Draw) -> SentencePair:
    """On Saturdays we go to the market; she flew to Vienna last week."""
    verb = draw.choice(MOTION)
    places = [place for place in ALL_PLACES if matches(place.kinds, verb.places) and place.name != "work"]
    tense: Tense = draw.choice(("present", "past", "past", "future", "going_to"))
    times = {"present": HABITUAL_TIMES, "past": PAST_TIMES, "future": FUTURE_TIMES, "going_to": FUTURE_TIMES}[tense]
    place = draw.choice(places)
    if tense == "present" and verb.english in ("run", "travel", "fly"):
        times = HABITUAL_TIMES[7:10]
    elif tense != "present" and verb.english == "run":
        times = PAST_TIMES[:4] if tense == "past" else FUTURE_TIMES[:6]
    if place in (HOME, BED) and (tense != "past" or verb.english != "go"):
        raise NoFitError
    if tense == "going_to" and verb.english == "go":
        tense = "future"
    time = draw.choice(times)
    clause = Clause(
        draw.subject(),
        verb,
        tense,
        negated=tense == "past" and draw.chance(0.15),
        place=draw.to_place(place),
        time=time,
    )
    return statement(clause, fronted=time if draw.chance(0.45) and not clause.negated else None)


def by_means(draw: Draw) -> SentencePair:
    """He goes to work by bus every day: Er fährt jeden Tag mit dem Bus zur Arbeit."""
    drivable = [place for place in ALL_PLACES if "drivable" in place.kinds and place.name != "mountains"]
    place: Place = draw.choice((WORK, WORK, SCHOOL, HOME, *CITIES[:6], *drivable, *drivable))
    means = draw.choice(MEANS if place not in CITIES else MEANS[1:3])
    clause = Clause(
        draw.subject(), RIDE, draw.choice(("present", "present", "past", "future")), means=means, place=draw.to_place(place),
        extra_pairs=frozenset([combination(place.name, means.head)]),
    )  # fmt: skip
    if clause.tense == "present" and draw.chance(0.5):
        return statement(replace(clause, frequency=draw.choice(FREQUENCIES)))
    times = {"present": EVERY_TIME, "past": PAST_TIMES, "future": FUTURE_TIMES}[clause.tense]
    time = draw.choice(times)
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.4) else None)


def at_place(draw: Draw) -> SentencePair:
    """My uncle works at the hospital; we swam in the lake yesterday."""
    subject = draw.subject()
    verb, place = draw.choice(placed_verbs())
    tense: Tense = draw.choice(("present", "past", "past", "future", "progressive"))
    unsuited = verb.english in ("work", "play") and not suits_place(subject, verb.english)
    if unsuited or (verb.stative and tense == "progressive"):
        raise NoFitError
    if verb.english == "live":
        return statement(Clause(subject, verb, place=draw.at_place(place), negated=draw.chance(0.1)))
    clause = Clause(subject, verb, tense, place=draw.at_place(place))
    if tense == "progressive":
        return statement(clause)
    if tense == "present" and draw.chance(0.4):
        return statement(replace(clause, frequency=draw.choice(FREQUENCIES)))
    time = draw.choice(EVERY_TIME) if tense == "present" else draw.time_for(verb, tense)
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.4) else None)


def scene(draw: Draw) -> SentencePair:
    """She is reading the letter on the balcony; I bought rolls at the bakery."""
    name, kinds, places = draw.choice(SCENES)
    verb, subject = VERB[name], draw.subject()
    tense: Tense = draw.choice(("past", "past", "future", "progressive"))
    if name in ("lose", "find", "see"):
        tense = "past"
    direct = None if verb.complements else draw.object_of(verb, subject, kinds=kinds)
    complement = draw.complement_of(verb, subject, kinds=kinds) if verb.complements else None
    place = draw.choice(places)
    clause = Clause(
        subject,
        verb,
        tense,
        direct=direct,
        complement=complement,
        place=draw.at_place(PLACE[place], adjective=False),
    )
    object_phrase = direct or complement
    assert object_phrase is not None
    if name == "read" and tense == "past" and subject.agreement != "he":
        raise NoFitError
    if object_phrase.head:
        clause = replace(clause, extra_pairs=frozenset([combination(object_phrase.head, place)]))
    if tense == "progressive" or (tense == "past" and draw.chance(0.4)):
        return statement(clause)
    time = draw.time_for(clause.verb, tense)
    return statement(replace(clause, time=time), fronted=time if draw.chance(0.4) else None)


def timetable(draw: Draw) -> SentencePair:
    """The train to Berlin leaves at half past seven on Monday; the course starts at ten o'clock."""
    clock = draw.clock()
    time = draw.choice(WEEKDAYS) if draw.chance(0.5) else None
    if draw.chance(0.5):
        noun = NOUN[draw.choice(("train", "bus"))]
        verb = draw.choice((DEPART, ARRIVE))
        subject = noun_phrase(THE, noun)
        if draw.chance(0.6):
            subject = _bound(subject, draw.choice(CITIES), arriving=verb is ARRIVE)
    else:
        noun = draw.noun(words("starts_on film"))
        verb, subject = START, noun_phrase(THE, noun, draw.adjective(noun) if draw.chance(0.2) else None)
    pairs = frozenset([combination(noun.english, clock.head)])
    clause = Clause(subject, verb, clock=clock, time=time, extra_pairs=pairs)
    return statement(clause, fronted=time if time and draw.chance(0.65) else None)


def daily_routine(draw: Draw) -> SentencePair:
    """He gets up at ten to six every morning: Er steht jeden Morgen um zehn vor sechs auf."""
    name, hours, present_times, past_time = draw.choice(ROUTINES)
    clock = draw.clock(hours)
    tense: Tense = draw.choice(("present", "present", "past"))
    time = draw.choice(present_times) if tense == "present" else past_time
    clause = Clause(
        draw.subject(),
        INTRANSITIVE_VERB[name],
        tense,
        clock=clock,
        time=time if draw.chance(0.65) else None,
    )
    return statement(clause, fronted=time if clause.time and draw.chance(0.6) else None)


def room_number(draw: Draw) -> SentencePair:
    """The meeting takes place in room 312 on Monday."""
    number = draw.choice(ROOM_NUMBERS)
    noun = draw.noun(words("indoors_event"))
    room = Adverbial(f"in room {number}", f"in Raum {number}", "room number")
    pairs = frozenset([combination(noun.english, str(number))])
    time = draw.choice((*WEEKDAYS, *FUTURE_TIMES[:2]))
    tense: Tense = "present" if time in WEEKDAYS else "future"
    clause = Clause(noun_phrase(THE, noun), TAKE_PLACE, tense, place=room, time=time, extra_pairs=pairs)
    return statement(clause, fronted=time if draw.chance(0.5) else None)


DETERMINED = {"learn": "indefinite", "look for": "definite"}


def since(draw: Draw) -> SentencePair:
    """She has been living in Berlin for two years: Sie wohnt seit zwei Jahren in Berlin."""
    name = draw.choice(("live", "work", "wait for", "learn", "look for"))
    short, long = SPANS[:1] + SPANS[3:6], SPANS[1:3] + SPANS[5:]
    spans = short if name in ("wait for", "look for") else long
    span = draw.choice(spans)
    time = Adverbial(f"for {span.english}", f"seit {span.german}", span.head)
    subject = draw.subject()
    if name in ("live", "work"):
        verb, place = draw.choice(placed_verbs((name,)))
        if name == "work" and not suits_place(subject, name):
            raise NoFitError
        clause = Clause(subject, verb, "perfect_progressive", place=draw.at_place(place), time=time)
    else:
        verb = VERB[name]
        kinds = {"wait for": "answer letter parcel", "learn": "language", "look for": "small"}[name]
        clause = draw.activity(subject, [verb], tense="perfect_progressive")
        if name == "wait for":
            clause = replace(clause, complement=draw.complement_of(verb, subject, kinds=kinds))
        else:
            clause = replace(clause, direct=draw.thing(draw.noun(words(kinds)), subject, verb, DETERMINED[name]))
        clause = replace(clause, time=time)
    return statement(replace(clause, extra_pairs=frozenset([combination(verb.infinitive, span.head)])))


def errand(draw: Draw, subject: Phrase) -> tuple[str, Clause]:
    place, name, kinds = draw.choice(ERRANDS)
    verb = VERB[name]
    if verb.complements:
        return place, Clause(subject, verb, complement=draw.complement_of(verb, subject, kinds=kinds))
    if name in INDEFINITE_ERRANDS:
        return place, Clause(subject, verb, direct=draw.thing(draw.noun(words(kinds)), subject, verb, "indefinite"))
    return place, Clause(subject, verb, direct=draw.object_of(verb, subject, kinds=kinds, pronouns=0.1))


def on_the_way(draw: Draw, subject: Phrase, place: str) -> Clause:
    verb: Verb = DRIVE if place in ("airport", "hospital", "supermarket") and draw.chance(0.5) else GO
    tense = draw.choice(("progressive", "past", "future"))
    going = Clause(subject, verb, "present", place=draw.to_place(PLACE[place], adjective=False))
    if tense == "past":
        return replace(going, tense="past")
    return replace(going, tense="future") if tense == "future" else replace(going, tense="progressive")


def placed_verbs(names: tuple[str, ...] = ()) -> list[tuple[Verb, Place]]:
    """The verbs that say where one does something, each with its places."""
    return [
        (verb, place)
        for verb in INTRANSITIVE
        if not names or verb.english in names
        for place in ALL_PLACES
        if matches(place.kinds, verb.places)
    ]


def suits_place(subject: Phrase, verb: str) -> bool:
    """Children do not work in a factory, engineers do not play in the park, the baker does not work at the bank."""
    noun = NOUN.get(subject.head)
    unfit = {"worker", "farmer"} | ({"youngster"} if verb == "work" else {"tourist", "customer", "man", "woman"})
    return noun is None or not matches(noun.kinds, frozenset(unfit))


def _bound(subject: Phrase, city: Place, *, arriving: bool) -> Phrase:
    """The train to Berlin: der Zug nach Berlin; one that arrives comes from there: der Zug aus Berlin."""
    assert city.fixed is not None
    german = city.fixed[3].removeprefix("in ")
    english_end, german_end = (f"from {city.name}", f"aus {german}") if arriving else (f"to {city.name}", f"nach {german}")
    english = f"{subject.english} {english_end}"
    forms = {case: f"{form} {german_end}" for case, form in subject.german.items()}
    return replace(subject, english=english, english_object=english, german=forms)
