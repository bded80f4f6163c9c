"""German inflection: articles, adjective endings, noun cases, verb forms. Entries in, word forms out; no sentences.

The tables follow the usual school grammar: strong endings are those of `dieser`, weak endings follow a der-word, mixed
endings follow an ein-word. The gender key `p` stands for the plural, which has no genders.
"""

import re
from typing import Literal

from entries import Case, Noun, Person, Verb

GenderKey = Literal["m", "f", "n", "p"]
Declension = Literal["strong", "weak", "mixed"]
PERSONS: tuple[Person, ...] = ("ich", "du", "er", "wir")
CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")

_DEFINITE: dict[Case, dict[GenderKey, str]] = {
    "nominative": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
    "genitive": {"m": "des", "f": "der", "n": "des", "p": "der"},
}
_STRONG: dict[Case, dict[GenderKey, str]] = {
    "nominative": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "accusative": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dative": {"m": "em", "f": "er", "n": "em", "p": "en"},
    "genitive": {"m": "es", "f": "er", "n": "es", "p": "er"},
}
_RELATIVE_DATIVE_PLURAL = "denen"
_REFLEXIVE: dict[Person, tuple[str, str]] = {
    "ich": ("mich", "mir"),
    "du": ("dich", "dir"),
    "er": ("sich", "sich"),
}
_INSEPARABLE = ("be", "ge", "er", "ver", "zer", "ent", "emp")
_SEIN: dict[Person, str] = {"ich": "bin", "du": "bist", "er": "ist", "wir": "sind"}
_HABEN: dict[Person, str] = {"ich": "habe", "du": "hast", "er": "hat", "wir": "haben"}
_WERDEN: dict[Person, str] = {"ich": "werde", "du": "wirst", "er": "wird", "wir": "werden"}
_WISSEN: dict[Person, str] = {"ich": "weiß", "du": "weißt", "er": "weiß", "wir": "wissen"}
_WAR: dict[Person, str] = {"ich": "war", "du": "warst", "er": "war", "wir": "waren"}
_IRREGULAR = {"sein": _SEIN, "haben": _HABEN, "wissen": _WISSEN}
_HATTE: dict[Person, str] = {"ich": "hatte", "du": "hattest", "er": "hatte", "wir": "hatten"}


def definite_article(case: Case, gender: GenderKey) -> str:
    return _DEFINITE[case][gender]


def relative_pronoun(case: Case, gender: GenderKey) -> str:
    """The relative pronoun, which is the article but for the dative plural (the genitive is not used)."""
    assert case != "genitive"
    return _RELATIVE_DATIVE_PLURAL if (case, gender) == ("dative", "p") else _DEFINITE[case][gender]


def der_word(stem: str, case: Case, gender: GenderKey) -> str:
    """dies-, jed-, welch-, viel- with the strong ending."""
    return stem + _STRONG[case][gender]


def ein_word(stem: str, case: Case, gender: GenderKey) -> str:
    """ein, kein, mein …: strong endings, none in the masculine nominative and the neuter nominative and accusative."""
    bare = (case == "nominative" and gender in "mn") or (case == "accusative" and gender == "n")
    return stem if bare else stem + _STRONG[case][gender]


def adjective_ending(declension: Declension, case: Case, gender: GenderKey) -> str:
    if declension == "strong":
        return "en" if case == "genitive" and gender in "mn" else _STRONG[case][gender]
    plain = gender != "p" and (case == "nominative" or (case == "accusative" and gender != "m"))
    if not plain:
        return "en"
    return "e" if declension == "weak" else _STRONG[case][gender]


def noun_form(noun: Noun, case: Case, *, plural: bool) -> str:
    """The noun in its case: dative plural -n, weak masculine -(e)n, genitive -(e)s."""
    if plural:
        needs_n = case == "dative" and noun.plural[-1] not in "ns"
        return noun.plural + ("n" if needs_n else "")
    if noun.weak:
        return noun.german if case == "nominative" else noun.plural
    if case == "genitive" and noun.gender != "f":
        return noun.german + _genitive_ending(noun.german)
    return noun.german


def _genitive_ending(word: str) -> str:
    """-es after a sibilant or a single syllable, -s elsewhere and in the loan words of one syllable."""
    if word == "Bus":
        return "ses"
    if word.endswith(("s", "ß", "z", "x", "sch")):
        return "es"
    syllables = len(re.findall("[aeiouyäöüé]+", word.lower()))
    one_syllable = syllables == 1 and word[-1].lower() not in "aeiou"
    return "es" if one_syllable and word not in ("Chef", "Film", "Park", "Schal") else "s"


def present(verb: Verb, person: Person) -> str:
    """The finite present form without the separable prefix."""
    infinitive = verb.base
    if infinitive in _IRREGULAR:
        return _IRREGULAR[infinitive][person]
    stem = _stem(infinitive)
    if person == "wir":
        return infinitive
    if person == "ich":
        return stem + "e"
    if verb.third:
        changed = verb.third[:-1] if verb.third.endswith("t") else verb.third
        if person == "er":
            return verb.third
        return verb.third if changed[-1] in "sßzx" else changed + "st"
    link = "e" if _needs_e(stem) else ""
    if person == "er":
        return f"{stem}{link}t"
    return f"{stem}t" if stem[-1] in "sßzx" else f"{stem}{link}st"


def preterite(verb: Verb, person: Person) -> str:
    """Only sein and haben, which everyday German keeps in the Präteritum."""
    assert has_preterite(verb)
    return _WAR[person] if verb.base == "sein" else _HATTE[person]


def has_preterite(verb: Verb) -> bool:
    return verb.base in ("sein", "haben")


def participle(verb: Verb) -> str:
    """The past participle with its separable prefix: angerufen, verkauft, repariert, gearbeitet."""
    if verb.participle:
        return verb.participle
    stem = _stem(verb.base)
    ending = "et" if _needs_e(stem) else "t"
    without_ge = verb.base.endswith("ieren") or verb.base.startswith(_INSEPARABLE)
    return f"{verb.prefix}{'' if without_ge else 'ge'}{stem}{ending}"


def imperative(verb: Verb) -> str:
    """The du form without its prefix: mach, warte, lies, nimm; a changes to no ä (fahr)."""
    stem = _stem(verb.base)
    if verb.third and not set("äöü") & set(verb.third):
        return verb.third[:-1] if verb.third.endswith("t") else verb.third
    return stem + "e" if _needs_e(stem) or stem.endswith(("er", "ig")) else stem


def zu_infinitive(verb: Verb) -> str:
    """zu kaufen, but anzurufen."""
    if not verb.prefix:
        return f"zu {verb.base}"
    return f"{verb.prefix}{'zu ' if verb.prefix.endswith(' ') else 'zu'}{verb.base}"


def perfect_auxiliary(verb: Verb, person: Person) -> str:
    return (_SEIN if verb.auxiliary == "sein" else _HABEN)[person]


def werden(person: Person) -> str:
    return _WERDEN[person]


def reflexive_pronoun(person: Person, case: Case, *, first_plural: bool) -> str:
    """mich, dich, sich, uns in the accusative or dative; "wir" forms are uns only for a real first person."""
    if person == "wir":
        return "uns" if first_plural else "sich"
    accusative, dative = _REFLEXIVE[person]
    return accusative if case == "accusative" else dative


def contracted(preposition: str, phrase: str, *, places: bool = False) -> str:
    """Preposition and noun phrase with the contractions standard German expects: im, am, zum, zur, vom, beim, ins.

    an + das is ans only before `places`: people write an das Buch denken but ans Meer fahren.
    """
    article, _, rest = phrase.partition(" ")
    short = {
        ("in", "dem"): "im", ("an", "dem"): "am", ("zu", "dem"): "zum", ("zu", "der"): "zur",
        ("von", "dem"): "vom", ("bei", "dem"): "beim", ("in", "das"): "ins",
    }.get((preposition, article), "")  # fmt: skip
    if places and (preposition, article) == ("an", "das"):
        short = "ans"
    return f"{short} {rest}" if short and rest else f"{preposition} {phrase}"


def _stem(infinitive: str) -> str:
    return infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]


def _needs_e(stem: str) -> bool:
    return stem.endswith(("t", "d", "ffn", "chn", "tm", "gn"))
