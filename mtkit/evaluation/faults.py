"""What went wrong in a translation and can be seen without understanding it.

Comes in: source, references and translations. Goes out: lines with what is wrong in them. A line is held against its
references too: what they have as well is no fault.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mtkit.evaluation.analysis import Texts
from mtkit.evaluation.words import addresses, longest_shared, numbers, repeated, words

UNTRANSLATED = 4
"""Text that the translation has from the source, and no reference has, was left untranslated if so many of its words begin
with a small letter (or have none): names and titles are often the same in both languages."""
REPEATED = 3
"""So often may no four words come in a line, unless a reference has them as often."""


@dataclass(frozen=True)
class Fault:
    """A line in which something went wrong that can be seen without understanding it."""

    line: int  # from 1
    found: str  # what, in words


def faults(texts: Texts) -> Mapping[str, tuple[tuple[Fault, ...], ...]]:
    """By kind of fault: those of each system. Kinds that need the source are left out where there is none."""
    found: dict[str, tuple[tuple[Fault, ...], ...]] = {}
    sources = texts.source if texts.source is not None else [""] * len(texts.references[0])
    for kind, look in FAULTS.items():
        if texts.source is None and kind in NEED_SOURCE:
            continue
        of_systems = []
        for system in texts.systems:
            lines = zip(sources, zip(*texts.references, strict=True), system.lines, strict=True)
            told = ((number, look(source, references, line)) for number, (source, references, line) in enumerate(lines, 1))
            of_systems.append(tuple(Fault(number, text) for number, text in told if text))
        found[kind] = tuple(of_systems)
    return found


def _empty(source: str, references: Sequence[str], line: str) -> str:
    return "nothing at all" if not line.strip() and any(reference.strip() for reference in references) else ""


def _copy(source: str, references: Sequence[str], line: str) -> str:
    own = words(line.lower())
    same = own == words(source.lower()) and any(word[0].isalpha() for word in own)
    wrong = all(own != words(reference.lower()) for reference in references)
    return "the source itself" if same and wrong else ""


def _untranslated(source: str, references: Sequence[str], line: str) -> str:
    if _copy(source, references, line):
        return ""  # told already
    run = longest_shared(line, source)
    if sum(word[0].isalpha() and not word[0].isupper() for word in run) < UNTRANSLATED:
        return ""
    known = any(len(longest_shared(" ".join(run), reference)) == len(run) for reference in references)
    return "" if known else f"“{' '.join(run)}” as in the source"


def _repeated(source: str, references: Sequence[str], line: str) -> str:
    run, count = repeated(line)
    if count < REPEATED or count <= max(repeated(reference)[1] for reference in references):
        return ""
    return f"“{run}” {count} times"


def _lost(find: Callable[[str], Counter[str]]) -> Callable[[str, Sequence[str], str], str]:
    """What source and references agree on and the translation has not; a stray one is none that the source has."""

    def look(source: str, references: Sequence[str], line: str) -> str:
        given, own = find(source), find(line)
        expected = given
        for reference in references:
            expected = expected & find(reference)
        lost = expected - own
        if not lost:
            return ""
        stray = own - given
        instead = f", but {', '.join(stray.elements())}" if stray else ""
        return f"no {', '.join(lost.elements())}{instead}"

    return look


FAULTS: Mapping[str, Callable[[str, Sequence[str], str], str]] = {
    "empty": _empty,
    "copies of the source": _copy,
    "left untranslated": _untranslated,
    "repeats itself": _repeated,
    "broken numbers": _lost(numbers),
    "broken addresses": _lost(addresses),
}
"""Kind of fault -> what is wrong with a line (source, references, translation), in words; '' if nothing is."""
NEED_SOURCE = frozenset({"copies of the source", "left untranslated", "broken numbers", "broken addresses"})
