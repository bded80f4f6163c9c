"""Patterns that say whose things are, what they cost and where they are.

Each pattern takes a `Draw` and returns one `SentencePair`. Where a thing is, German asks for a posture verb (liegen, stehen,
hängen) that the noun decides, and for the dative; where it is put, for legen or stellen and the accusative.
"""

from dataclasses import replace

from adverbials import NOW_TIMES, PAST_TIMES
from clauses import Clause, combinations, german_statement
from descriptions import OWNED, PRICED, but, described
from draws import Draw, NoFitError
from entries import Adverbial, Noun, Verb, matches, words
from german import contracted
from modals import CAN, HAVE_TO, MUST, SHOULD, WANT
from nouns import NOUN, NOUNS, RELATIVES
from numbers_and_times import PRICES, english_number, german_number
from phrases import BARE, NO, NOT_A, NOT_ANY, THE, A, Phrase, combination, it_for, noun_phrase, number_determiner, resumed
from sentences import SentencePair, finished, statement
from verbs import BELONG, COST, FIND_AGAIN, HANG, HAVE, LAY, LIE, PLACE_UPRIGHT, STAND, TRANSITIVE

FIND = next(verb for verb in TRANSITIVE if verb.english == "find")
LOSE = next(verb for verb in TRANSITIVE if verb.english == "lose")
LOOK_FOR = next(verb for verb in TRANSITIVE if verb.english == "look for")
COSTLY = words("furniture devices own_vehicles guitar ring")
HAD = words("own_vehicles pet devices clothes luggage guitar question idea plan problem key umbrella ticket time money")


def cannot_find_it(draw: Draw) -> SentencePair:
    """Paul is looking for his umbrella, but he cannot find it: aber er kann ihn nicht finden."""
    subject = draw.subject(coreferent=True)
    noun = draw.noun(LOOK_FOR.objects & LOSE.objects)
    if draw.chance(0.5):
        main = Clause(subject, LOOK_FOR, "progressive", direct=draw.thing(noun, subject, LOOK_FOR))
        assert main.direct is not None
        return but(main, Clause(resumed(subject), FIND, modal=CAN, negated=True, direct=it_for(main.direct)))
    main = Clause(subject, LOSE, "past", direct=draw.thing(noun, subject, LOSE))
    assert main.direct is not None
    return but(main, Clause(resumed(subject), FIND_AGAIN, "past", direct=it_for(main.direct)))


def having(draw: Draw) -> SentencePair:
    """We have a new washing machine; she has no money; he did not have any time yesterday."""
    subject = draw.subject()
    noun = draw.noun(HAD)
    adjective = draw.adjective(noun) if draw.chance(0.5) and not noun.mass else None
    past = draw.chance(0.25)
    kind = draw.choice(("a", "a", "no", "not"))
    plural = draw.plural(noun, 0.3)
    if kind != "a" and noun.english == "idea":
        raise NoFitError  # "no idea" is an idiom
    if kind != "a" and "ideas" in noun.kinds:
        adjective = None
    if kind == "a" and noun.mass:
        kind = "no"
    number = number_determiner(draw.choice((2, 3, 4, 5)))
    if "pairs" in noun.kinds:
        number = BARE
        adjective = adjective or draw.adjective(noun)
    determiner = {
        "a": number if plural else A,
        "no": NO,
        "not": NOT_ANY if plural or noun.mass else NOT_A,
    }[kind]
    thing = noun_phrase(determiner, noun, adjective, plural=plural)
    time = draw.choice(PAST_TIMES[:3]) if past else (NOW_TIMES[0] if noun.mass and draw.chance(0.5) else None)
    clause = Clause(subject, HAVE, "past" if past else "present", negated=kind == "not", direct=thing, time=time)
    return statement(clause)


def family(draw: Draw) -> SentencePair:
    """My uncle has two sons and three daughters."""
    kin = [noun for noun in RELATIVES if "only_one" not in noun.kinds and not noun.plural_only]
    subject = draw.subject()
    first, second = draw.choice(kin), draw.choice(kin)
    if first == second or subject.head in (first.english, second.english):
        raise NoFitError
    left, right = _some(draw, first), _some(draw, second)
    german = {case: f"{form} und {right.german[case]}" for case, form in left.german.items()}
    pairs = frozenset([combination(first.english, second.english)])
    both = replace(left, english_object=f"{left.english} and {right.english}", german=german, pairs=pairs)
    return statement(Clause(subject, HAVE, direct=both))


def being_somewhere(draw: Draw) -> SentencePair:
    """The cup is on the table (steht); the newspaper is under the sofa (liegt); there is a lamp next to the bed."""
    noun, verb = _posed(draw)
    place, pairs = _spot(draw, noun, "dative")
    plural = draw.chance(0.25)
    if draw.chance(0.45):
        adjective = draw.adjective(noun) if draw.chance(0.4) else None
        determiner = number_determiner(draw.choice((2, 3, 4, 5, 6))) if plural else A
        thing = noun_phrase(determiner, noun, adjective, plural=plural)
        clause = Clause(thing, verb, place=place, extra_pairs=pairs)
        german = german_statement(clause, fronted=place)
        is_or_are = "are" if plural else "is"
        return finished(f"there {is_or_are} {thing.english} {place.english}", german, combinations(clause))
    subject = described(draw, noun, plural=plural, owner=draw.choice(["my", "your", "his", "her", "our"]))
    return statement(Clause(subject, verb, place=place, extra_pairs=pairs))


def putting(draw: Draw) -> SentencePair:
    """She is putting the cup on the table: Sie stellt gerade die Tasse auf den Tisch."""
    noun, verb = _posed(draw)
    place, pairs = _spot(draw, noun, "accusative")
    subject = draw.subject()
    action = LAY if verb is LIE else PLACE_UPRIGHT
    thing = draw.thing(noun, subject, action, "definite")
    kind = draw.choice(("progressive", "past", "future", "modal"))
    clause = Clause(subject, action, direct=thing, place=replace(place, direction=True), extra_pairs=pairs)
    if kind == "modal":
        return statement(replace(clause, modal=draw.choice((CAN, MUST, HAVE_TO, SHOULD, WANT))))
    if kind == "past":
        if subject.agreement != "he":
            raise NoFitError
        return statement(replace(clause, tense="past"))
    return statement(replace(clause, tense="future" if kind == "future" else "progressive"))


def hanging(draw: Draw) -> SentencePair:
    """The old clock hangs next to the door."""
    noun = draw.choice([noun for noun in NOUNS if "hangs" in noun.kinds])
    furniture = draw.choice(
        [NOUN[name] for name in ("sofa", "bed", "desk", "table", "door", "window", "cupboard", "armchair")]
    )
    english, german = draw.choice((("above", "über"), ("next to", "neben")))
    if (furniture.english in ("door", "window", "cupboard")) != (english == "next to"):
        raise NoFitError
    place = _spot_adverbial(english, german, noun_phrase(THE, furniture), "dative")
    pairs = frozenset([combination(noun.english, furniture.english)])
    subject = described(draw, noun, plural=draw.chance(0.2), owner=draw.choice(["my", "your", "our"]))
    return statement(Clause(subject, HANG, place=place, extra_pairs=pairs))


def price(draw: Draw) -> SentencePair:
    """The green jacket costs eighty-five euros."""
    noun = draw.noun(PRICED)
    costly = matches(noun.kinds, COSTLY)
    value = draw.choice([price for price in PRICES if (price >= 100) == costly])
    subject = described(draw, noun, plural=draw.chance(0.2))
    amount = Phrase(
        f"{english_number(value)} euros", f"{english_number(value)} euros",
        dict.fromkeys(subject.german, f"{german_number(value)} Euro"), "they", "wir", "p", definite=False, head=str(value),
    )  # fmt: skip
    pairs = frozenset([combination(noun.english, str(value))])
    clause = Clause(subject, COST, direct=amount, extra_pairs=pairs)
    return statement(clause)


def belonging(draw: Draw) -> SentencePair:
    """The red bicycle belongs to my nephew."""
    noun = draw.noun(OWNED)
    subject = described(draw, noun, plural=draw.chance(0.2))
    owner = draw.someone(BELONG.objects, subject)
    pairs = frozenset([combination(noun.english, owner.head)] if owner.head else [])
    return statement(Clause(subject, BELONG, direct=owner, negated=draw.chance(0.2), extra_pairs=pairs))


def _some(draw: Draw, noun: Noun) -> Phrase:
    value = draw.choice((1, 2, 3, 4))
    return noun_phrase(A, noun) if value == 1 else noun_phrase(number_determiner(value), noun, plural=True)


def _posed(draw: Draw) -> tuple[Noun, Verb]:
    noun = draw.noun(words("lies stands stands_low"))
    return noun, LIE if "lies" in noun.kinds else STAND


def _spot(draw: Draw, noun: Noun, case: str) -> tuple[Adverbial, frozenset[str]]:
    """A place by a piece of furniture where such a thing may be."""
    low = "stands_low" in noun.kinds
    english, german, kind = draw.choice(
        (
            ("under", "unter", "under"),
            ("next to", "neben", "beside"),
            ("behind", "hinter", "behind"),
            ("in front of", "vor", "behind"),
        )
        if low
        else (
            ("on", "auf", "top"),
            ("on", "auf", "top"),
            ("in", "in", "inside"),
            ("next to", "neben", "beside"),
            ("under", "unter", "under"),
        )
    )
    furniture = draw.choice([piece for piece in NOUNS if kind in piece.kinds and piece != noun])
    if furniture.english == "shelf" and english == "in":
        english = "on"  # on the shelf, but im Regal
    if furniture.english == "drawer" and "lies" not in noun.kinds:
        raise NoFitError
    if kind == "under" and "stands" in noun.kinds:
        raise NoFitError
    adjective = draw.adjective(furniture) if draw.chance(0.2) else None
    phrase = noun_phrase(THE, furniture, adjective)
    return _spot_adverbial(english, german, phrase, case), frozenset([combination(noun.english, furniture.english)])


def _spot_adverbial(english: str, german: str, phrase: Phrase, case: str) -> Adverbial:
    form = phrase.german["accusative" if case == "accusative" else "dative"]
    return Adverbial(f"{english} {phrase.english}", contracted(german, form), phrase.head, pairs=phrase.pairs)
