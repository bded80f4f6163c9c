"""What a translation should have taken over as it is: web addresses, e-mail addresses, numbers, placeholders.

Comes in: a source line and its translation. Goes out: what differs between them. Changes nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence

ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"“”]*[\w/#=&+-]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
NUMBER = re.compile(r"\d(?:[\d.,:'’  /]*\d)?")


def changed(source: str, target: str) -> list[tuple[str, str]]:
    """(missing, in excess): each address or number that is in one more often than in the other, '' on the other side.

    Numbers are compared by their digits alone: signs between them are written differently in every language.
    """
    return _differences(_found(source), _found(target))


def changed_symbols(source: str, target: str, symbols: Sequence[str]) -> list[tuple[str, str]]:
    """The same of `symbols`, found as the vocabulary finds them: from the left, the longest first."""
    if not symbols:
        return []
    known = re.compile("|".join(map(re.escape, sorted(symbols, key=len, reverse=True))))
    return _differences(Counter(known.findall(source)), Counter(known.findall(target)))


def _differences(there: Counter[str], here: Counter[str]) -> list[tuple[str, str]]:
    return [(text, "") for text in (there - here).elements()] + [("", text) for text in (here - there).elements()]


def _found(text: str) -> Counter[str]:
    addresses = ADDRESS.findall(text)
    rest = ADDRESS.sub(" ", text)
    digits = ("".join(character for character in number if character.isdigit()) for number in NUMBER.findall(rest))
    return Counter([*addresses, *digits])
