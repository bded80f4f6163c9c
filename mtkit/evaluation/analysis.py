"""What a score does not tell: where systems are good and bad, how long they are, and which sentences show it.

Comes in: source, references and translations, a `Scorer`, and how often words come in the training text. Goes out: plain
figures and examples for a page. Knows nothing of files, models or of what the page looks like.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mtkit.evaluation.comparison import System
from mtkit.evaluation.scores import Scorer, capped
from mtkit.evaluation.words import words

LENGTHS = ((1, 5), (6, 10), (11, 20), (21, 30), (31, 40), (41, 60), (61, None))
"""Words of a sentence, first and last of a group."""
FREQUENCIES = ((0, 0), (1, 1), (2, 9), (10, 99), (100, 999), (1000, None))
"""How often the training text has the rarest word of a sentence, first and last of a group."""
RATIOS = (0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
"""Between groups of the length of a translation, as a share of its reference's."""


@dataclass(frozen=True)
class Group:
    """Sentences of one kind."""

    label: str
    sentences: int
    scores: tuple[float | None, ...]
    """BLEU of each system on them alone; None where there are none."""


@dataclass(frozen=True)
class Lengths:
    """How long a system's translations are. The unit is BLEU's token."""

    ratio: float
    """Tokens of all translations by those of their references (the closest ones), as in BLEU's own summary."""
    shares: tuple[float, ...]
    """Share of lines in each of the groups that `RATIOS` parts."""


@dataclass(frozen=True)
class Example:
    """A sentence and what the systems made of it, with the chrF of each."""

    line: int  # from 1
    source: str | None
    references: tuple[str, ...]
    translations: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Texts:
    """Lines that belong together."""

    source: Sequence[str] | None
    references: Sequence[Sequence[str]]
    systems: Sequence[System]


def by_length(texts: Texts, scorer: Scorer) -> tuple[Group, ...]:
    """BLEU by the number of words of the source, or of the first reference where there is no source."""
    lengths = [len(words(line)) for line in texts.source or texts.references[0]]
    return _groups([max(length, 1) for length in lengths], LENGTHS, texts, scorer)


def by_frequency(texts: Texts, scorer: Scorer, frequency: Mapping[str, int]) -> tuple[Group, ...]:
    """BLEU by how often the training text has the rarest word of the source; lines without words are left out.

    `frequency` is by word in small letters, of all words of the source.
    """
    assert texts.source is not None, "rare words are those of the source"
    rarest = [
        min((frequency.get(word, 0) for word in words(line.lower()) if word[0].isalpha()), default=-1)
        for line in texts.source
    ]
    return _groups(rarest, FREQUENCIES, texts, scorer)


def word_frequencies(lines: Iterable[str], of: Iterable[str]) -> Counter[str]:
    """How often the words that the lines `of` hold come in `lines`, in small letters."""
    wanted = {word for line in of for word in words(line.lower())}
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(word for word in words(line.lower()) if word in wanted)
    return counts


def _groups(
    values: Sequence[int], bounds: Sequence[tuple[int, int | None]], texts: Texts, scorer: Scorer
) -> tuple[Group, ...]:
    found = []
    metric = scorer.metric("bleu")
    for first, last in bounds:
        places = [place for place, value in enumerate(values) if first <= value and (last is None or value <= last)]
        label = f"{first:,}+" if last is None else f"{first}" if first == last else f"{first}–{last}"
        scores: list[float | None] = [None] * len(texts.systems)
        if places:
            scores = [capped("bleu", metric.part_score(system.lines, places).score) for system in texts.systems]
        found.append(Group(label, len(places), tuple(scores)))
    return tuple(found)


def length_ratios(texts: Texts, scorer: Scorer) -> tuple[Lengths, ...]:
    """Of each system."""
    found = []
    for system in texts.systems:
        own, reference = scorer.metric("bleu").counts(system.lines)[:, :2].T
        ratios = np.where(reference > 0, own / np.maximum(reference, 1), np.where(own > 0, np.inf, 1.0))
        counts = np.bincount(np.digitize(ratios, RATIOS), minlength=len(RATIOS) + 1)
        shares = tuple(float(count) / len(ratios) for count in counts)
        found.append(Lengths(float(own.sum() / max(reference.sum(), 1)), shares))
    return tuple(found)


def telling_examples(texts: Texts, scorer: Scorer, count: int) -> tuple[Example, ...]:
    """The sentences on which the systems differ most or, of one system, those that it did worst; by chrF."""
    metric = scorer.metric("chrf").of_sentences()
    scores = np.array([metric.sentence_scores(system.lines) for system in texts.systems])
    size = scores.max(0) - scores.min(0) if len(scores) > 1 else 100 - scores[0]
    found = []
    for place in np.lexsort((np.arange(len(size)), -size))[:count]:
        if size[place] > 0:
            references = tuple(dict.fromkeys(reference[place] for reference in texts.references))
            source = texts.source[place] if texts.source is not None else None
            translations = tuple(system.lines[place] for system in texts.systems)
            found.append(Example(int(place) + 1, source, references, translations, tuple(map(float, scores[:, place]))))
    return tuple(found)
