"""One clause in both languages: a `Clause` (who does what to whom, when and where) in, English and German word strings out.

Word order lives here and only here: verb second and verb last, the sentence bracket, the order of the midfield (pronouns,
time, frequency, dative, definite accusative, nicht, means, place, indefinite accusative, prepositional object), the place of
"not" and of English adverbs. Tenses are mapped once: simple past is the Perfekt (the Präteritum for sein, haben and the
modals), will is werden, "going to" with its time is the Präsens, the progressive is the Präsens with gerade. Strings come
out without a capital or a full stop; `sentences` puts clauses together.
"""

from dataclasses import dataclass, replace
from typing import Literal

import german
from english import VerbGroup, split_verb, verb_group
from entries import Adverbial, Modal, Verb
from phrases import Phrase, combination

Tense = Literal["present", "past", "future", "going_to", "progressive", "perfect_progressive"]


@dataclass(frozen=True)
class Predicate:
    """What follows sein or schmecken: an adjective with its degree, or a whole noun phrase in the nominative."""

    english: str
    german: str


@dataclass(frozen=True)
class Clause:
    """`direct` takes the verb's object case, `indirect` the dative, `complement` the case of the verb's preposition.
    `clock` is a time of day and stands next to `time`; `extra_pairs` are combinations that the parts do not show."""

    subject: Phrase
    verb: Verb
    tense: Tense = "present"
    modal: Modal | None = None
    negated: bool = False
    direct: Phrase | None = None
    indirect: Phrase | None = None
    complement: Phrase | None = None
    predicate: Predicate | None = None
    time: Adverbial | None = None
    clock: Adverbial | None = None
    frequency: Adverbial | None = None
    means: Adverbial | None = None
    place: Adverbial | None = None
    extra_pairs: frozenset[str] = frozenset()


def combinations(clause: Clause) -> frozenset[str]:
    """Every pair of content words of the clause that stand in a grammatical relation."""
    verb = clause.verb.infinitive
    phrases = [phrase for phrase in (clause.direct, clause.indirect, clause.complement) if phrase is not None]
    adverbials = [adverbial for adverbial in (clause.place, clause.clock, clause.means) if adverbial is not None]
    parts: list[Phrase | Adverbial] = [*phrases, *adverbials]
    pairs = {combination(verb, part.head) for part in parts if part.head}
    pairs = pairs.union(clause.subject.pairs, clause.extra_pairs, *(part.pairs for part in parts))
    loose = clause.time or clause.frequency
    if not pairs and clause.subject.head:
        pairs.add(combination(clause.subject.head, verb))
    elif not pairs and loose is not None:
        pairs.add(combination(verb, loose.head))
    return frozenset(pairs)


# English


def english_statement(clause: Clause, *, fronted: Adverbial | None = None) -> str:
    """Subject first, or the fronted adverbial and then the subject; English does not invert."""
    clause = _without(clause, fronted)
    group = _english_group(clause, question=False)
    start = [fronted.english if fronted else "", clause.subject.english]
    return _join(*start, *_english_predicate(clause, group))


def english_question(clause: Clause, *, question_word: str = "") -> str:
    """`question_word` stands first; a subject question (who) has the order of a statement."""
    group = _english_group(clause, question=True)
    rest = _english_predicate(clause, replace(group, auxiliary=""))
    negation = "not" if clause.negated else ""
    if negation:
        rest.remove("not")
    return _join(question_word, group.auxiliary, clause.subject.english, negation, *rest)


def english_infinitive(clause: Clause) -> str:
    """to call his mother tomorrow"""
    word, fixed, _ = split_verb(clause.verb.english)
    group = VerbGroup("", f"{word} {fixed}".strip())
    return _join("to", *_english_predicate(clause, group))


def english_imperative(clause: Clause) -> str:
    word, fixed, _ = split_verb(clause.verb.english)
    group = VerbGroup("do" if clause.negated else "", f"{word} {fixed}".strip())
    return _join(*_english_predicate(clause, group))


def english_tail(clause: Clause) -> str:
    """Everything after the subject, for relative clauses and shared subjects."""
    return _join(*_english_predicate(clause, _english_group(clause, question=False)))


def _english_group(clause: Clause, *, question: bool) -> VerbGroup:
    do_support = question or clause.negated
    return verb_group(clause.verb, clause.subject.agreement, clause.tense, clause.modal, do_support=do_support)


def _english_predicate(clause: Clause, group: VerbGroup) -> list[str]:
    particle = split_verb(clause.verb.english)[2]
    pronoun_object = clause.direct is not None and clause.direct.pronoun
    phrases = (clause.indirect, clause.direct, clause.complement)
    objects = [phrase.english_object for phrase in phrases if phrase is not None]
    if clause.verb.english_to and clause.indirect is not None:
        objects = [*objects[1:], f"to {objects[0]}"]
    words = [group.auxiliary, "not" if clause.negated else "", _english_of(clause.frequency), group.main]
    if words[:2] == ["can", "not"]:
        words[:2] = ["cannot", ""]
    words += [*objects, particle] if pronoun_object else [particle, *objects]
    words.append(clause.predicate.english if clause.predicate else "")
    words += [_english_of(adverbial) for adverbial in (clause.place, clause.means, clause.clock, clause.time)]
    return words


# German


def german_statement(clause: Clause, *, fronted: Adverbial | None = None) -> str:
    """Verb second: the subject or the fronted adverbial first."""
    clause = _without(clause, fronted)
    finite, final = _german_verbs(clause)
    if fronted is None:
        return _join(clause.subject.german["nominative"], finite, *_midfield(clause), *final)
    return _join(fronted.german, finite, *_subject_and_midfield(clause), *final)


def german_question(clause: Clause, *, question_word: str = "") -> str:
    """Verb first, or second after the question word."""
    finite, final = _german_verbs(clause)
    return _join(question_word, finite, *_subject_and_midfield(clause), *final)


def german_inverted(clause: Clause) -> str:
    """The clause from its finite verb on, after a first element given elsewhere (a wenn clause, deshalb)."""
    return german_question(clause)


def german_subordinate(clause: Clause, conjunction: str) -> str:
    """Verb last, the separable prefix joined to it: weil er seine Mutter anruft."""
    finite, final = _german_verbs(clause)
    return _join(conjunction, *_subject_and_midfield(clause), *_verb_last(clause, finite, final))


def german_relative(clause: Clause, pronoun: str) -> str:
    """A relative clause whose subject is the pronoun; the clause's own subject is not said."""
    finite, final = _german_verbs(clause)
    return _join(pronoun, *_midfield(clause), *_verb_last(clause, finite, final))


def german_tail(clause: Clause) -> str:
    """Everything after the subject of a main clause, for a subject shared by two verbs."""
    finite, final = _german_verbs(clause)
    return _join(finite, *_midfield(clause), *final)


def german_infinitive(clause: Clause, opening: str = "") -> str:
    """um seine Mutter anzurufen (opening um), or the bare group with zu."""
    return _join(opening, *_midfield(clause), german.zu_infinitive(clause.verb))


def german_imperative(clause: Clause) -> str:
    """The du imperative with bitte behind the pronouns: mach bitte die Tür auf, ruf mich bitte an."""
    words = [german.imperative(clause.verb), *_pronouns(clause), "bitte", *_after_pronouns(clause)]
    return _join(*words, clause.verb.prefix.strip())


def _german_verbs(clause: Clause) -> tuple[str, list[str]]:
    """The finite verb and the words that close the bracket; a present tense closes it with the bare prefix."""
    verb, person = clause.verb, clause.subject.person
    index = german.PERSONS.index(person)
    if clause.modal is not None and not clause.modal.adverb:
        forms = clause.modal.past if clause.tense == "past" else clause.modal.present
        assert forms is not None
        return forms[index], [verb.infinitive]
    if clause.tense == "future":
        return german.werden(person), [verb.infinitive]
    if clause.tense == "past":
        if german.has_preterite(verb):
            return german.preterite(verb, person), []
        return german.perfect_auxiliary(verb, person), [german.participle(verb)]
    return german.present(verb, person), [verb.prefix.strip()] if verb.prefix else []


def _verb_last(clause: Clause, finite: str, final: list[str]) -> list[str]:
    prefix = clause.verb.prefix
    if prefix and final == [prefix.strip()]:
        return [prefix + finite]
    return [*final, finite]


def _subject_and_midfield(clause: Clause) -> list[str]:
    """A reflexive pronoun goes before a subject that is no pronoun: Morgen freut sich Anna auf …"""
    subject = clause.subject.german["nominative"]
    midfield = _midfield(clause)
    if clause.verb.reflexive and not clause.subject.pronoun:
        return [midfield[0], subject, *midfield[1:]]
    return [subject, *midfield]


def _midfield(clause: Clause) -> list[str]:
    return [*_pronouns(clause), *_after_pronouns(clause)]


def _pronouns(clause: Clause) -> list[str]:
    """The reflexive first, then the accusative, then the dative."""
    direct, indirect = clause.direct, clause.indirect
    words = [_reflexive(clause)] if clause.verb.reflexive else []
    words.append(direct.german[clause.verb.object_case] if direct and direct.pronoun else "")
    words.append(indirect.german["dative"] if indirect and indirect.pronoun else "")
    return words


def _after_pronouns(clause: Clause) -> list[str]:
    """Known before new: a definite object precedes nicht and the place, an indefinite one follows them."""
    verb = clause.verb
    direct = clause.direct if clause.direct and not clause.direct.pronoun else None
    indirect = clause.indirect if clause.indirect and not clause.indirect.pronoun else None
    direct_german = direct.german[verb.object_case] if direct else ""
    early = bool(direct and direct.definite)
    kein = any(phrase is not None and phrase.kein for phrase in (direct, indirect, clause.complement))
    nicht = "nicht" if clause.negated and not kein else ""
    adverb = clause.modal.adverb if clause.modal else ""  # gern, lieber: nicht stands before it, objects after it
    direction = bool(clause.place and clause.place.direction)
    frequency = _german_of(clause.frequency)
    # er ruft seine Mutter oft an, but er liest oft die Zeitung, er ruft meistens seine Mutter an
    after_person = bool(early and direct and direct.personal) and frequency != "meistens"
    words = [_german_of(clause.time), _german_of(clause.clock), "" if after_person else frequency]
    words.append("gerade" if clause.tense == "progressive" else "")
    words += [nicht, adverb] if adverb else []
    words += [indirect.german["dative"] if indirect else "", direct_german if early else ""]
    words += [frequency if after_person else "", "" if adverb else nicht, _german_of(clause.means)]
    words += ["" if direction else _german_of(clause.place), "" if early else direct_german]
    if clause.complement is not None:
        words.append(german.contracted(verb.preposition, clause.complement.german[verb.complement_case]))
    words += [_german_of(clause.place) if direction else "", clause.predicate.german if clause.predicate else ""]
    return words


def _reflexive(clause: Clause) -> str:
    case = clause.verb.reflexive
    assert case
    return german.reflexive_pronoun(clause.subject.person, case, first_plural=clause.subject.agreement == "we")


def _without(clause: Clause, fronted: Adverbial | None) -> Clause:
    """The clause without the adverbial that has moved to the front."""
    if fronted is None:
        return clause
    return replace(
        clause,
        time=None if clause.time == fronted else clause.time,
        clock=None if clause.clock == fronted else clause.clock,
        place=None if clause.place == fronted else clause.place,
    )


def _english_of(adverbial: Adverbial | None) -> str:
    return adverbial.english if adverbial else ""


def _german_of(adverbial: Adverbial | None) -> str:
    return adverbial.german if adverbial else ""


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)
