"""Lines of text to translations, in order: reading ahead, batching by length, searching, joining.

Comes in: models, vocabularies, options and lines. Goes out: one `Translation` for each line, in the order of the lines.
Knows nothing of files, run folders or output formats. A line's translation depends on that line alone.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.engines import ENGINES
from mtkit.decoding.search import Hypothesis
from mtkit.decoding.splitting import split_tokens
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

LARGEST_ROWS = 2048
"""Most hypotheses continued at a time: each takes a row of float32 as wide as the target's vocabulary, several times."""


@dataclass(frozen=True)
class TranslatedText:
    """One of the n best translations of a line. Numbers are in natural logarithms and tokens (vocabulary pieces)."""

    text: str
    length: int  # in tokens, as the length penalty counts: end token included
    score: float  # log_probability / length penalty; of a line in pieces the mean of theirs
    log_probability: float
    truncated: bool  # stopped by the length limit
    looping: bool  # repeats itself: see `is_looping`


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

    @property
    def text(self) -> str:
        """The best translation. Never holds a line break."""
        return self.hypotheses[0].text


class Translator:
    """One model or an ensemble with its vocabularies, ready to translate. Models may be in training: their mode is kept."""

    def __init__(
        self, models: Sequence[Transformer], vocabularies: Vocabularies, config: schema.Decoding, device: torch.device
    ) -> None:
        """The models must already be on `device` and number text as `vocabularies` do."""
        self._engine = ENGINES[config.engine](models, vocabularies, config, device)
        limits = [model.longest for model in models if model.longest is not None]
        self._longest = min(limits, default=None)  # tokens the models have positions for, control token included
        self._vocabularies = vocabularies
        self._config = config

    def translate(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translates lines as they come. Reads `buffer` lines, then yields the translations of all of them."""
        numbered = enumerate(lines, 1)
        while chunk := list(itertools.islice(numbered, self._config.buffer)):
            yield from self._translate_chunk(chunk)

    def _translate_chunk(self, chunk: list[tuple[int, str]]) -> Iterator[Translation]:
        longest = self._config.max_source_tokens
        named = "decoding.max_source_tokens"
        if self._longest is not None and self._longest <= longest:
            longest, named = self._longest - 1, "the model's learned positions,"
        vocabulary = self._vocabularies.source
        encoded = vocabulary.encode([line for _, line in chunk])
        cut = [split_tokens(tokens, vocabulary.pieces, longest) if tokens else [] for tokens in encoded]
        found = iter(self._search([run for runs in cut for run in runs]))
        for (number, line), tokens, runs in zip(chunk, encoded, cut, strict=True):
            hypotheses = self._join([next(found) for _ in runs])
            warnings = []
            if len(runs) > 1:
                told = f"{len(tokens)} tokens, over {named} {longest}"
                warnings.append(f"line {number}: {told}: translated in {len(runs)} pieces")
            if hypotheses[0].truncated:
                limits = ", ".join(str(self._limit(run)) for run in runs)
                warnings.append(f"line {number}: output reached the length limit ({limits} tokens)")
            yield Translation(number, line, hypotheses, len(runs), tuple(warnings))

    def _search(self, sources: list[list[int]]) -> list[list[Hypothesis]]:
        """Hypotheses of each source. Sources of like length go together, the longest first: memory runs out at once."""
        order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
        found: list[list[Hypothesis]] = [[] for _ in sources]
        start = 0
        while start < len(order):
            padded = len(sources[order[start]]) + 1
            count = min(self._config.batch_tokens // padded, LARGEST_ROWS // self._config.beam_size)
            batch = order[start : start + max(1, count)]
            start += len(batch)
            texts = [sources[place] for place in batch]
            answers = self._engine.search(texts, [self._limit(text) for text in texts])
            for place, hypotheses in zip(batch, answers, strict=True):
                if not hypotheses:
                    raise UserError(
                        "the model gives no finite probabilities: its weights are damaged or its training diverged"
                    )
                found[place] = hypotheses
        return found

    def _limit(self, source: list[int]) -> int:
        """Most tokens of a translation, end token included."""
        limit = int(self._config.max_length_factor * len(source)) + self._config.max_length_constant
        return limit if self._longest is None else min(limit, self._longest)

    def _join(self, pieces: list[list[Hypothesis]]) -> tuple[TranslatedText, ...]:
        """The n best of a line from those of its pieces: the best of all, then the second best of all, …"""
        if not pieces:
            return (BLANK,)
        ranks = range(min(len(hypotheses) for hypotheses in pieces))
        return tuple(self._text([hypotheses[rank] for hypotheses in pieces]) for rank in ranks)

    def _text(self, parts: list[Hypothesis]) -> TranslatedText:
        texts = self._vocabularies.target.decode([part.tokens for part in parts])
        return TranslatedText(
            " ".join(filter(None, texts)),
            sum(part.length for part in parts),
            sum(part.score for part in parts) / len(parts),
            sum(part.log_probability for part in parts),
            any(part.truncated for part in parts),
            any(is_looping(part.tokens) for part in parts),
        )


def is_looping(tokens: Sequence[int]) -> bool:
    """Whether some four tokens in a row come more than five times."""
    counts = Counter(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))
    return max(counts.values(), default=0) > 5
