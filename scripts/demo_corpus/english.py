"""English inflection: verb forms, articles, plurals of the verb. Entries in, word forms out; no sentences."""

from dataclasses import dataclass

from entries import Modal, Verb

_BE_PRESENT = {"I": "am", "you": "are", "he": "is", "we": "are", "they": "are"}
_BE_PAST = {"I": "was", "you": "were", "he": "was", "we": "were", "they": "were"}


@dataclass(frozen=True)
class VerbGroup:
    """`auxiliary` (empty for a simple finite verb) inverts in questions and precedes "not"; `main` is all the rest."""

    auxiliary: str
    main: str


def split_verb(english: str) -> tuple[str, str, str]:
    """(the inflected word, the fixed words after it, the movable particle): turn~on gives ("turn", "", "on")."""
    fixed, _, particle = english.partition("~")
    word, _, rest = fixed.partition(" ")
    return word, rest, particle


def third_singular(word: str) -> str:
    if word == "have":
        return "has"
    if word.endswith(("s", "sh", "ch", "x", "z", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def be(agreement: str, *, past: bool) -> str:
    """`agreement` is one of I, you, he, we, they."""
    return (_BE_PAST if past else _BE_PRESENT)[agreement]


def finite(word: str, past_form: str, agreement: str, *, past: bool) -> str:
    if past:
        return past_form
    return third_singular(word) if agreement == "he" else word


def verb_group(verb: Verb, agreement: str, tense: str, modal: Modal | None, *, do_support: bool) -> VerbGroup:
    """The English verb without its particle and objects; `do_support` asks for an auxiliary (questions, negation)."""
    word, rest, _ = split_verb(verb.english)
    base = f"{word} {rest}".strip()
    if modal is not None:
        return _with_modal(modal, base, agreement, past=tense == "past", do_support=do_support)
    if tense == "future":
        return VerbGroup("will", base)
    if tense == "going_to":
        return VerbGroup(be(agreement, past=False), f"going to {base}")
    if tense == "progressive":
        return VerbGroup(be(agreement, past=False), f"{verb.english_ing} {rest}".strip())
    if tense == "perfect_progressive":
        return VerbGroup("has" if agreement == "he" else "have", f"been {verb.english_ing} {rest}".strip())
    past = tense == "past"
    if word == "be":
        return VerbGroup(be(agreement, past=past), rest)
    if do_support:
        return VerbGroup("did" if past else finite("do", "did", agreement, past=False), base)
    return VerbGroup("", f"{finite(word, verb.english_past, agreement, past=past)} {rest}".strip())


def _with_modal(modal: Modal, base: str, agreement: str, *, past: bool, do_support: bool) -> VerbGroup:
    word, _, rest = modal.english.partition(" ")
    if word == "be":
        return VerbGroup(be(agreement, past=past), f"{rest} {base}")
    if modal.auxiliary:
        return VerbGroup(modal.english_past if past else word, f"{rest} {base}".strip())
    if do_support:
        return VerbGroup("did" if past else finite("do", "did", agreement, past=False), f"{word} {rest} {base}")
    past_word = modal.english_past.partition(" ")[0]
    return VerbGroup("", f"{finite(word, past_word, agreement, past=past)} {rest} {base}")


def with_article(words: str) -> str:
    """`a` or `an` by the first sound of the words."""
    silent_or_vowel = words[0].lower() in "aeiou" and not words.startswith(("uni", "use", "euro"))
    return f"an {words}" if silent_or_vowel or words.startswith(("hour", "honest")) else f"a {words}"
