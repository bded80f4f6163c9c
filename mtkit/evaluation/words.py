"""Text as words for looking at it: what differs between two lines, what repeats, what came through unchanged.

No score is made of these words; sacreBLEU has its own. A word is a run of letters and digits; every other character that is
not white space is one of its own, and so is a letter of a script that is written without spaces.
"""

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

_WIDE = "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Burmese, kana, Chinese characters
WORD = re.compile(rf"[{_WIDE}]|(?:(?![{_WIDE}])\w)+(?:[’'](?:(?![{_WIDE}])\w)+)*|[^\w\s]")

NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,:']\d+)*")
ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"„“”»]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def words(text: str) -> list[str]:
    """The words of a line."""
    return WORD.findall(text)


@dataclass(frozen=True)
class Run:
    """A stretch of a line; `alone` if the line it was held against does not have it there."""

    text: str
    alone: bool


def held_against(text: str, other: str) -> tuple[Run, ...]:
    """`text` in stretches that `other` has as well, in this order, and those it has not; joined, they are `text`."""
    spans = [match.span() for match in WORD.finditer(text)]
    own = [text[start:end] for start, end in spans]
    matcher = SequenceMatcher(None, own, words(other), autojunk=False)
    shared = {place for block in matcher.get_matching_blocks() for place in range(block.a, block.a + block.size)}
    runs: list[Run] = []
    done = 0
    for place, (start, end) in enumerate(spans):
        alone = place not in shared
        between = text[done:start]
        if runs and runs[-1].alone == alone:
            runs[-1] = Run(runs[-1].text + between + text[start:end], alone)
        else:
            if between:
                runs.append(Run(between, False))
            runs.append(Run(text[start:end], alone))
        done = end
    if text[done:]:
        runs.append(Run(text[done:], False))
    return tuple(runs)


def repeated(text: str, size: int = 4) -> tuple[str, int]:
    """The commonest run of `size` words and how often it comes; ("", 0) if the line is shorter."""
    own = words(text)
    counts = Counter(tuple(own[start : start + size]) for start in range(len(own) - size + 1))
    if not counts:
        return "", 0
    run, count = counts.most_common(1)[0]
    return " ".join(run), count


def longest_shared(text: str, other: str) -> list[str]:
    """The longest run of words that the two lines have in common, capitals or not."""
    own, others = words(text), words(other)
    matcher = SequenceMatcher(None, [word.lower() for word in own], [word.lower() for word in others], autojunk=False)
    block = matcher.find_longest_match()
    return own[block.a : block.a + block.size]


def numbers(text: str) -> Counter[str]:
    """The numbers of a line by their digits alone: 1,234.5 and 1.234,5 and 1 234,5 are one."""
    return Counter(re.sub(r"\D", "", number) for number in NUMBER.findall(ADDRESS.sub(" ", text)))


def addresses(text: str) -> Counter[str]:
    """The web and e-mail addresses of a line, without the punctuation of the sentence."""
    return Counter(address.rstrip(".,;:!?)]}'’") for address in ADDRESS.findall(text))
