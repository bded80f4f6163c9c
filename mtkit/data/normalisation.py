"""What becomes of text before it is numbered: the choices of `vocabulary.normalization`.

Comes in: any string. Goes out: the text that its tokens stand for, on one line. Knows nothing of vocabularies. Every choice
lives in two places that agree: a function here, and rules inside the SentencePiece model, so that the model file alone
treats text as mtkit does.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal

JOINERS = "\u200c\u200d"  # invisible, yet they decide how Persian, Indic scripts and emoji look
WORD_MARK = "\u2581"  # SentencePiece writes spaces this way and cannot tell a literal one from a space
UNKNOWN_MARK = "\u2047"  # SentencePiece writes the unknown piece this way; the sign's plain form is two question marks
LINE_SEPARATORS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

_Form = Literal["NFC", "NFKC"]


@functools.cache
def finding(symbols: tuple[str, ...]) -> re.Pattern[str]:
    """Finds symbols, at least one, in its only group, as a vocabulary does: of two that begin alike the longer is meant."""
    return re.compile(f"({'|'.join(map(re.escape, sorted(symbols, key=len, reverse=True)))})")


def _character_rules() -> dict[int, str]:
    """What becomes of single code points: white space -> space; control, format -> nothing; lone surrogates -> U+FFFD."""
    rules = {ord(WORD_MARK): " ", ord(UNKNOWN_MARK): "??"}
    for code in chain(range(0x20000), range(0xE0000, 0xE1000)):  # the planes that have any such; all of them takes 0.5 s
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace() or category in ("Zs", "Zl", "Zp"):
            rules[code] = " "
        elif category in ("Cc", "Cf") and character not in JOINERS:
            rules[code] = ""
        elif category == "Cs":
            rules[code] = "\ufffd"
    del rules[ord(" ")]
    return rules


@functools.cache
def _treatment() -> tuple[re.Pattern[str], dict[int, str]]:
    """Finds text that `_character_rules` may change (few lines have any), and the rules themselves."""
    rules = _character_rules()
    below = "".join(re.escape(chr(code)) for code in rules if code < 0x10000)
    return re.compile(f"[{below}\U00010000-\U0010ffff]"), rules  # one range for all above: single ones are slow to test


def _cleaned(text: str, form: _Form) -> str:
    special, rules = _treatment()
    if special.search(text):
        text = text.translate(rules)
    text = unicodedata.normalize(form, text)
    return " ".join(filter(None, text.split(" "))) if "  " in text or text[:1] == " " or text[-1:] == " " else text


def nfc(text: str) -> str:
    """Unicode NFC; every white space and line separator becomes a space, runs of spaces one, none at the ends; control and
    format characters (soft hyphen, zero-width space, byte-order mark, NUL) vanish, save the two zero-width joiners;
    U+2581 becomes a space, U+2047 `??`, a lone surrogate U+FFFD. Nothing else changes: no compatibility forms, no case.
    """
    return _cleaned(text, "NFC")


def nfkc(text: str) -> str:
    """As `nfc`, and compatibility forms become plain ones: `…` three dots, `ﬁ` two letters, `m²` m2, full width ASCII."""
    return _cleaned(text, "NFKC")


_IDENTITY = re.compile(f"[{re.escape(LINE_SEPARATORS)}\t{WORD_MARK}\ud800-\udfff]")


def identity(text: str) -> str:
    """The text as it is, but for what would break a line or a column or cannot be kept.

    A line separator, a tab or U+2581 becomes a space, a lone surrogate U+FFFD; a text of nothing but white space and
    zero-width characters is no text.
    """
    if _IDENTITY.search(text):
        text = _IDENTITY.sub(lambda match: "\ufffd" if "\ud800" <= match[0] <= "\udfff" else " ", text)
    return text if nfc(text) else ""


@functools.cache
def _model_rules(form: _Form) -> str:
    """The treatment of `nfc` or `nfkc` as rules for SentencePiece: `code points TAB code points`, hexadecimal."""
    treat = {"NFC": nfc, "NFKC": nfkc}[form]
    rules: dict[str, str] = {chr(code): text for code, text in _character_rules().items() if not 0xD800 <= code <= 0xDFFF}
    del rules["\0"]  # a rule cannot begin with the end-of-string byte; `nfc` removes it before
    hangul = range(0xAC00, 0xD7A4)  # 11,172 syllables composed from jamo: left to the function
    for code in range(0x30000):  # no composition lies above
        if code in hangul or 0xD800 <= code <= 0xDFFF or chr(code) in rules:
            continue
        composed = unicodedata.normalize(form, chr(code))
        decomposition = unicodedata.decomposition(chr(code))
        if composed != chr(code):
            rules[chr(code)] = treat(composed) if form == "NFKC" and composed.strip() else composed
        elif decomposition and not decomposition.startswith("<"):
            pair = "".join(chr(int(part, 16)) for part in decomposition.split())
            for spelling in (pair, unicodedata.normalize("NFD", chr(code))):
                rules[spelling] = composed
    lines = ("\t".join(" ".join(f"{ord(c):X}" for c in text) for text in rule) for rule in rules.items())
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Normalisation:
    """One choice: what it does, and how SentencePiece is told to do the same."""

    treat: Callable[[str], str]
    rules: Callable[[], str] | None  # None: SentencePiece leaves text as it is

    def changes(self, characters: Mapping[str, str]) -> dict[str, str]:
        """Those of `characters` that it does not leave as they are, even between letters."""
        return {one: kind for one, kind in characters.items() if self.treat(f"a{one}a") != f"a{one}a"}


NORMALISATIONS: dict[str, Normalisation] = {
    "nfc": Normalisation(nfc, lambda: _model_rules("NFC")),
    "nfkc": Normalisation(nfkc, lambda: _model_rules("NFKC")),
    "identity": Normalisation(identity, None),
}
"""By the word for it in `vocabulary.normalization`."""

PROBE = "A\u030a  \ufb01"
"""A text of which each choice makes something else: a vocabulary's own treatment is known by it."""
