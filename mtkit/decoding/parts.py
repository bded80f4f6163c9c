"""A line as the parts that are translated on their own: one, unless it is split into sentences or too long for the model.

Comes in: lines with what is wished of their translations. Goes out: for each its parts, what stands between them, and
warnings of what was done. Knows the source's vocabulary, no model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mtkit.config import schema
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding.glossary import Glossary
from mtkit.decoding.phrases import NO_WISHES, Demand, Wishes
from mtkit.decoding.splitting import split_tokens
from mtkit.support.errors import UserError

LINE_SEPARATOR = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What other programs may take for the end of a line."""


@dataclass(frozen=True)
class Line:
    """One line of the input."""

    text: str
    wishes: Wishes = NO_WISHES
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What came with it and goes out with its translation."""


@dataclass(frozen=True)
class Part:
    """Text that is translated on its own; never blank."""

    tokens: tuple[int, ...]
    wishes: Wishes = NO_WISHES
    spacing: str = ""  # between the part before it and this one

    def requiring(self, demands: Iterable[Demand]) -> "Part":
        """The same, of whose translation more is demanded."""
        return replace(self, wishes=replace(self.wishes, required=(*self.wishes.required, *demands)))


@dataclass(frozen=True)
class Cut:
    """A line in parts; none, if it is blank."""

    parts: tuple[Part, ...]
    tokens: int  # in all, those cut off included
    warnings: tuple[str, ...]  # without the number of the line
    required: tuple[Demand, ...] = ()
    """What one of several parts must hold, whichever."""


class Cutter:
    """Cuts lines into parts, by the options of the section decoding."""

    def __init__(self, config: schema.Decoding, vocabulary: Vocabulary, longest: int | None, source_language: str) -> None:
        """longest: source tokens that the model has positions for, None = any; source_language: for `split_sentences`."""
        self._config, self._vocabulary = config, vocabulary
        self._longest, self._limit_name = config.max_source_tokens, "decoding.max_source_tokens"
        if longest is not None and longest < self._longest:
            self._longest, self._limit_name = longest, "the model's learned positions,"
        self._glossary = Glossary.load(config.glossary, vocabulary.normalise) if config.glossary else None
        self._split = _sentence_splitter(source_language) if config.split_sentences else None

    def cut(self, lines: Sequence[Line], first: int) -> list[Cut]:
        """The parts of each line; `first` is the number of the first of them, for warnings and messages."""
        sentences = [self._sentences(line.text) for line in lines]
        encoded = iter(self._vocabulary.encode([text for spaced in sentences for _, text in spaced]))
        return [
            self._cut(line, [(spacing, next(encoded)) for spacing, _ in spaced], number)
            for number, (line, spaced) in enumerate(zip(lines, sentences, strict=True), first)
        ]

    def _sentences(self, line: str) -> list[tuple[str, str]]:
        """The sentences of a line, each with the spacing before it."""
        if self._split is None or not self._vocabulary.normalise(line):
            return [("", line)]
        found: list[tuple[str, str]] = []
        spacing = ""
        for segment in self._split(line):
            text = segment.strip()
            leading = segment[: len(segment) - len(segment.lstrip())] if text else segment
            spacing += leading
            if text:
                found.append((LINE_SEPARATOR.sub(" ", spacing) if found else "", text))
                spacing = segment[len(segment.rstrip()) :]
        return found

    def _cut(self, line: Line, sentences: list[tuple[str, list[int]]], number: int) -> Cut:
        line.wishes.check(f"line {number}", self._vocabulary.normalise)
        parts: list[Part] = []
        warnings: list[str] = []
        total = sum(len(tokens) for _, tokens in sentences)
        for spacing, tokens in sentences:
            runs = self._runs(tokens, number, warnings)
            for place, run in enumerate(runs):
                between = " " if place else spacing
                parts.append(Part(tuple(run), NO_WISHES, between if parts else ""))
        anywhere = line.wishes.required if len(parts) > 1 else ()
        return Cut(tuple(self._wishing(parts, line.wishes, number, warnings)), total, tuple(warnings), anywhere)

    def _runs(self, tokens: list[int], number: int, warnings: list[str]) -> list[list[int]]:
        """The tokens of a sentence in runs that the model can read."""
        if not tokens:
            return []
        if len(tokens) <= self._longest:
            return [tokens]
        told = f"{len(tokens)} tokens, over {self._limit_name} {self._longest}"
        if self._config.long_lines == "error":
            raise UserError(f"line {number}: {told}: shorten it, raise the limit, or set decoding.long_lines=split")
        runs = split_tokens(tokens, self._vocabulary.pieces, self._longest)
        if self._config.long_lines == "truncate":
            warnings.append(f"{told}: only the first {len(runs[0])} translated")
            return runs[:1]
        warnings.append(f"{told}: translated in {len(runs)} pieces")
        return runs

    def _wishing(self, parts: list[Part], wishes: Wishes, number: int, warnings: list[str]) -> list[Part]:
        """The parts with the wishes that concern each of them, and those of the glossary that a line does not forbid."""
        if not parts or (wishes == NO_WISHES and self._glossary is None):
            return parts
        texts = self._vocabulary.decode([part.tokens for part in parts]) if self._glossary is not None else []
        found = []
        for place, part in enumerate(parts):
            required = wishes.required if len(parts) == 1 else ()
            for demand in self._glossary.demands(texts[place]) if self._glossary is not None else ():
                if banned := wishes.banned_in(demand.alternatives, self._vocabulary.normalise):
                    warnings.append(f"{demand.alternatives[0]!r} of the glossary is left out: {banned!r} is forbidden here")
                else:
                    required += (demand,)
            own = Wishes(wishes.prefix if place == 0 else "", required, wishes.forbidden)
            own.check(f"line {number}", self._vocabulary.normalise)
            found.append(replace(part, wishes=own))
        return found


def _sentence_splitter(language: str) -> Any:
    """A function from text to its sentences, which put together are the text."""
    try:
        import sentencex
    except ImportError:
        raise UserError(
            "decoding.split_sentences needs the package sentencex: install it with pip install 'mtkit[sentences]'"
        ) from None
    return lambda text: list(sentencex.segment(language.partition("-")[0].partition("_")[0], text))
