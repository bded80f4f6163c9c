"""Lines of text to translations, in order: reading ahead, batching by length, searching, joining.

Comes in: models, vocabularies, options and lines. Goes out: one `Translation` for each line, in the order of the lines.
Knows nothing of files, run folders or output formats. A line's translation depends on that line alone.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.alignment import Pairs, align, words_of
from mtkit.decoding.copies import changed
from mtkit.decoding.engines import ENGINES
from mtkit.decoding.lanes import Lanes
from mtkit.decoding.parts import Cut, Cutter, Line, Part
from mtkit.decoding.requests import Request
from mtkit.decoding.search import Hypothesis
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

LARGEST_ROWS = 2048
"""Most hypotheses continued at a time: each takes a row of float32 as wide as the target's vocabulary, several times."""

SUSPICIOUS = 50, 0.4
"""A translation of more source tokens than this, and of a smaller share of them, may have left out sentences."""


@dataclass(frozen=True)
class TranslatedText:
    """One of the n best translations of a line. Numbers are in natural logarithms and tokens (vocabulary pieces)."""

    text: str
    length: int  # in tokens, as the length penalty counts: end token included
    score: float  # log_probability / length penalty; of a line in pieces the mean of theirs
    log_probability: float
    truncated: bool  # stopped by the length limit
    looping: bool  # repeats itself: see `is_looping`
    tokens: tuple[str, ...] = ()  # pieces of the vocabulary
    alignment: Pairs = ()  # (source word, target word), where details are asked for


BLANK = TranslatedText("", 0, 0.0, 0.0, truncated=False, looping=False)
"""The translation of a line without text."""


@dataclass(frozen=True)
class Translation:
    """What became of one line."""

    number: int  # of the line, from 1
    source: str
    hypotheses: tuple[TranslatedText, ...]  # best first, at least one
    pieces: int  # parts it was translated in; 0 = blank, nothing to translate
    warnings: tuple[str, ...]
    fields: Mapping[str, Any]  # what came with the line

    @property
    def text(self) -> str:
        """The best translation. Never holds a line break."""
        return self.hypotheses[0].text


@dataclass(frozen=True)
class _Found:
    """A hypothesis of a part, with the source words that its words came from."""

    hypothesis: Hypothesis
    alignment: Pairs


class Translator:
    """One model or an ensemble with its vocabularies, ready to translate. Models may be in training: their mode is kept."""

    def __init__(
        self,
        models: Sequence[Transformer],
        vocabularies: Vocabularies,
        config: schema.Decoding,
        device: torch.device,
        *,
        source_language: str = "",
        details: bool = False,
    ) -> None:
        """The models must already be on `device` and number text as `vocabularies` do.

        source_language: a code, for `decoding.split_sentences`; details: whether words are aligned, which takes a while.
        """
        self.engine = ENGINES[config.engine](models, vocabularies, config, device)
        self._lanes = Lanes(alone=not self.engine.side_by_side)
        limits = [model.longest for model in models if model.longest is not None]
        self._longest = min(limits, default=None)  # tokens the models have positions for, control token included
        readable = None if self._longest is None else self._longest - 1
        self._cutter = Cutter(config, vocabularies.source, readable, source_language)
        self._vocabularies, self._config, self._details = vocabularies, config, details

    def translate(self, lines: Iterable[str | Line]) -> Iterator[Translation]:
        """Translates lines as they come. Reads `buffer` lines, then yields the translations of all of them."""
        source = (Line(line) if isinstance(line, str) else line for line in lines)
        first = 1
        while chunk := list(itertools.islice(source, self._config.buffer)):
            yield from self.translate_chunk(chunk, first)
            first += len(chunk)

    def translate_chunk(self, lines: Sequence[Line], first: int) -> Iterator[Translation]:
        """The translations of lines `first`, `first` + 1, …, all made before the first is yielded."""
        cuts = self._placed(self._cutter.cut(lines, first))
        found = iter(self._search([part for cut in cuts for part in cut.parts]))
        for number, (line, cut) in enumerate(zip(lines, cuts, strict=True), first):
            hypotheses = self._join(cut.parts, [next(found) for _ in cut.parts])
            warnings = self._warnings(line.text, cut, hypotheses[0])
            told = tuple(f"line {number}: {warning}" for warning in warnings)
            yield Translation(number, line.text, hypotheses, len(cut.parts), told, line.fields)

    def _warnings(self, source: str, cut: Cut, best: TranslatedText) -> list[str]:
        """What a reader of the translation should know, without the number of the line."""
        warnings = list(cut.warnings)
        if best.truncated:
            limits = ", ".join(map(str, sorted({self._limit(part.tokens) for part in cut.parts})))
            warnings.append(f"output reached the length limit ({limits} tokens)")
        tokens, share = SUSPICIOUS
        if len(cut.parts) == 1 and cut.tokens > tokens and best.length < share * cut.tokens:
            warnings.append(
                f"{cut.tokens} tokens became {best.length}: something may be missing; decoding.split_sentences=true "
                "translates each sentence on its own"
            )
        if self._config.check_copies:
            vocabulary = self._vocabularies.source
            for missing, excess in changed(vocabulary.normalise(source), best.text, vocabulary.symbols):
                warnings.append(f"{missing} is missing in the output" if missing else f"{excess} is in the output only")
        return warnings

    def _placed(self, cuts: Sequence[Cut]) -> list[Cut]:
        """The same; what a line in several parts must hold is demanded of the part that loses the least score by it."""
        trials = [
            part.requiring(demands)
            for cut in cuts
            if cut.required
            for part in cut.parts
            for demands in ((), *((demand,) for demand in cut.required))
        ]
        scores = iter([hypotheses[0].hypothesis.score for hypotheses in self._search(trials, everything=True)])
        return [self._housed(cut, scores) if cut.required else cut for cut in cuts]

    def _housed(self, cut: Cut, scores: Iterator[float]) -> Cut:
        """scores: of each part without demands and with each of them."""
        losses = []
        for _ in cut.parts:
            free, *asked = (next(scores) for _ in (None, *cut.required))
            # What comes by itself in several parts stays in the first: differences of rounding do not count.
            losses.append([round(max(0.0, free - score), 3) for score in asked])
        homes = np.argmin(losses, axis=0)  # of each demand
        parts = (
            part.requiring(demand for demand, home in zip(cut.required, homes, strict=True) if home == place)
            for place, part in enumerate(cut.parts)
        )
        return replace(cut, parts=tuple(parts))

    def _search(self, parts: list[Part], *, everything: bool = False) -> list[list[_Found]]:
        """Hypotheses of each part. Parts of like length go together, the longest first: memory runs out at once.

        everything: whether all tokens are searched, so that scores compare.
        """
        order = sorted(range(len(parts)), key=lambda place: -len(parts[place].tokens))
        batches: list[list[int]] = []
        start = 0
        while start < len(order):
            padded = len(parts[order[start]].tokens) + 1
            count = min(self._config.batch_tokens // padded, LARGEST_ROWS // self.engine.rows)
            batch = order[start : start + max(1, count)]
            start += len(batch)
            batches.append(batch)
        batches = self._lanes.share(batches, self.engine.rows)
        requests = [[self._request(parts[place], everything) for place in batch] for batch in batches]
        found: list[list[_Found]] = [[] for _ in parts]
        for batch, answers in zip(batches, self._lanes.search(self.engine.search, requests), strict=True):
            for place, hypotheses in zip(batch, self._with_words([parts[place] for place in batch], answers), strict=True):
                found[place] = hypotheses
        return found

    def _request(self, part: Part, everything: bool) -> Request:
        # What must be said may be a translation that nobody has seen.
        everything = everything or bool(part.wishes.prefix or part.wishes.required)
        return Request(part.tokens, self._limit(part.tokens), self._shortest(part.tokens), part.wishes, everything)

    def _with_words(self, parts: Sequence[Part], answers: list[list[Hypothesis]]) -> list[list[_Found]]:
        """The hypotheses of the parts of one batch, aligned. UserError where a part has none."""
        if not all(answers):
            raise UserError("the model gives no finite probabilities: its weights are damaged or its training diverged")
        pairs = [(part.tokens, one.tokens) for part, hypotheses in zip(parts, answers, strict=True) for one in hypotheses]
        aligned = iter(self._aligned(pairs))
        return [[_Found(one, next(aligned)) for one in hypotheses] for hypotheses in answers]

    def _aligned(self, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Iterator[Pairs]:
        """Word alignments of (source, target) token ids; empty ones where nobody asks for details."""
        if not self._details:
            return itertools.repeat((), len(pairs))
        spelt, written = self._vocabularies.source.pieces, self._vocabularies.target.pieces
        attention = self.engine.alignments(*zip(*pairs, strict=True))
        return (
            align(weights, [spelt[token] for token in source], [written[token] for token in target])
            for weights, (source, target) in zip(attention, pairs, strict=True)
        )

    def _limit(self, source: Sequence[int]) -> int:
        """Most tokens of a translation, end token included."""
        limit = int(self._config.max_length_factor * len(source)) + self._config.max_length_constant
        return limit if self._longest is None else min(limit, self._longest)

    def _shortest(self, source: Sequence[int]) -> int:
        """Fewest tokens of a translation, end token included."""
        return int(self._config.min_length_factor * len(source)) + self._config.min_length_constant

    def _join(self, parts: Sequence[Part], found: list[list[_Found]]) -> tuple[TranslatedText, ...]:
        """The n best of a line from those of its parts: the best of all, then the second best of all, …"""
        if not parts:
            return (BLANK,)
        texts = [self._text(parts, list(rank)) for rank in zip(*found, strict=False)]
        if self._config.distinct_texts:
            best: dict[str, TranslatedText] = {}
            for text in texts:
                best.setdefault(text.text, text)
            texts = list(best.values())
        return tuple(texts[: self._config.n_best])

    def _text(self, parts: Sequence[Part], found: list[_Found]) -> TranslatedText:
        """One translation of a line from one hypothesis of each of its parts."""
        hypotheses = [each.hypothesis for each in found]
        joined = ""
        for part, text in zip(parts, self._vocabularies.target.decode([one.tokens for one in hypotheses]), strict=True):
            joined += part.spacing + text if joined and text else text
        return TranslatedText(
            joined,
            sum(one.length for one in hypotheses),
            sum(one.score for one in hypotheses) / len(hypotheses),
            sum(one.log_probability for one in hypotheses),
            any(one.truncated for one in hypotheses),
            any(is_looping(one.tokens) for one in hypotheses),
            tuple(self._vocabularies.target.pieces[token] for one in hypotheses for token in one.tokens),
            self._alignment(parts, found),
        )

    def _alignment(self, parts: Sequence[Part], found: Sequence[_Found]) -> Pairs:
        """The alignments of the parts with words numbered through the line."""
        pairs: list[tuple[int, int]] = []
        sources = targets = 0
        for part, each in zip(parts, found, strict=True):
            pairs += [(source + sources, target + targets) for source, target in each.alignment]
            sources += 1 + max(words_of([self._vocabularies.source.pieces[token] for token in part.tokens]), default=-1)
            written = [self._vocabularies.target.pieces[token] for token in each.hypothesis.tokens]
            targets += 1 + max(words_of(written), default=-1)
        return tuple(pairs)


def is_looping(tokens: Sequence[int]) -> bool:
    """Whether some four tokens in a row come more than five times."""
    counts = Counter(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))
    return max(counts.values(), default=0) > 5
