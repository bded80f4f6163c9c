"""What a translation should have taken over as it is: placeholders, web addresses, e-mail addresses, numbers.

Comes in: a source line and its translation. Goes out: what differs between them. Changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable

from mtkit.data.normalisation import finding

ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"“”]*[\w/#=&+-]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
NUMBER = re.compile(r"\d(?:[\d.,:'’  /]*\d)?")


def changed(source: str, target: str, symbols: Iterable[str] = ()) -> list[tuple[str, str]]:
    """(missing, in excess): each symbol, address or number that one has more often than the other, '' on the other side.

    Symbols are those of the vocabulary, such as placeholders. Numbers are compared by their digits alone: signs between
    them are written differently in every language.
    """
    known = tuple(symbols)
    there, here = _found(source, known), _found(target, known)
    return [(text, "") for text in (there - here).elements()] + [("", text) for text in (here - there).elements()]


def _found(text: str, symbols: tuple[str, ...]) -> Counter[str]:
    found: list[str] = []
    for pattern in (*([finding(symbols)] if symbols else []), ADDRESS):
        found += pattern.findall(text)
        text = pattern.sub(" ", text)
    digits = ("".join(character for character in number if character.isdigit()) for number in NUMBER.findall(text))
    return Counter([*found, *digits])
