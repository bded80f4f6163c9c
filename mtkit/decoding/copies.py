"""What a translation should have taken over as it is: web addresses, e-mail addresses, numbers.

Comes in: a source line and its translation. Goes out: what differs between them. Changes nothing.
"""

import re
from collections import Counter

ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"“”]*[\w/#=&+-]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
NUMBER = re.compile(r"\d(?:[\d.,:'’  /]*\d)?")


def changed(source: str, target: str) -> list[tuple[str, str]]:
    """(missing, in excess): each address or number that is in one more often than in the other, '' on the other side.

    Numbers are compared by their digits alone: signs between them are written differently in every language.
    """
    there, here = _found(source), _found(target)
    return [(text, "") for text in (there - here).elements()] + [("", text) for text in (here - there).elements()]


def _found(text: str) -> Counter[str]:
    addresses = ADDRESS.findall(text)
    rest = ADDRESS.sub(" ", text)
    digits = ("".join(character for character in number if character.isdigit()) for number in NUMBER.findall(rest))
    return Counter([*addresses, *digits])
